/** 1 for each byte that may stand in a header's name (RFC 9110, token), 0 for all others. */
export const tokenBytes = new Uint8Array(256)
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  tokenBytes[char.charCodeAt(0)] = 1
