/** Headers that change how a message is read, or what becomes of the connection. Requests with them are left to `node:http`. */
export const NOT_PLAIN: ReadonlySet<string> = new Set([
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])
