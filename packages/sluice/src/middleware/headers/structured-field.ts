// The few pieces of RFC 9651 (structured fields for HTTP) that rate limit headers are made of.

import { digitsOf } from "./digits.js"

const LARGEST_INTEGER = 999_999_999_999_999

/** A whole number of at least 0 with at most 15 digits, which is all a structured field may hold. Not a number: 0. */
export function sfInteger(value: number): string {
  if (value <= LARGEST_INTEGER) return value >= 1 ? digitsOf(Math.floor(value)) : "0"
  return value > LARGEST_INTEGER ? `${LARGEST_INTEGER}` : "0"
}

/** Text in quotes. A structured string is printable ASCII; each other character becomes `_`. */
export function sfString(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/gu, "_").replace(/["\\]/g, "\\$&")}"`
}

/** Milliseconds in whole seconds, rounded up, so that waiting that long is enough. */
export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** The UTF-8 bytes of a text in base64. */
export function base64(text: string): string {
  let bytes = ""
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte)
  return btoa(bytes)
}
