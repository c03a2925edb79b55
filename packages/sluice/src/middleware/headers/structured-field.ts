// The parts of RFC 9651 (structured fields for HTTP) that rate limit headers use.

const MAX_INTEGER = 999_999_999_999_999

/** Writes a whole number from 0 to the 15 digits that a structured field may hold. NaN becomes 0. */
export function sfInteger(value: number): string {
  if (value <= MAX_INTEGER) return value >= 1 ? `${Math.floor(value)}` : "0"
  return value > MAX_INTEGER ? `${MAX_INTEGER}` : "0"
}

/** Writes a string in quotes. A structured string is printable ASCII, so every other character becomes `_`. */
export function sfString(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/gu, "_").replace(/["\\]/g, "\\$&")}"`
}

/** Converts milliseconds to whole seconds, rounded up, so that waiting that long is enough. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** Encodes the UTF-8 bytes of a text in base64. */
export function base64(text: string): string {
  let bytes = ""
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte)
  return btoa(bytes)
}
