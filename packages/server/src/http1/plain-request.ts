// The head of a request, read from its bytes, if it is of the plain kind that nearly every program sends: a POST with a
// length, in well-formed HTTP/1.1. Whatever is not is nobody's here, however slightly it differs, and left to node:http,
// which sees the same bytes: so there is no request that two parsers could understand in two ways.

import { NOT_PLAIN } from "./not-plain.js"
import { tokenBytes } from "./token-bytes.js"

export interface PlainHead {
  /** The path and query, as they came. */
  readonly target: string
  readonly bodyLength: number
  /** How many bytes it has, with the empty line. */
  readonly length: number
}

/** What somebody else judges: how a message is read, and what a browser says of the page that sends it. */
const JUDGED: ReadonlySet<string> = new Set([
  ...NOT_PLAIN,
  "content-encoding",
  "origin",
  "referer",
  "sec-fetch-site",
])
const START = Buffer.from("POST ")
const VERSION = Buffer.from(" HTTP/1.1\r\n")
const SPACE = 0x20
const TAB = 0x09
const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a
const TILDE = 0x7e
const ZERO = 0x30
const NINE = 0x39
/** A body of eight digits is too large anyway. */
const MOST_DIGITS = 7

/** Undefined when the head is not complete, not plain or not well-formed, or longer than `mostBytes`. */
export function plainHead(bytes: Buffer, from: number, mostBytes: number): PlainHead | undefined {
  const end = Math.min(bytes.length, from + mostBytes)
  if (!startsWith(bytes, from, START)) return undefined
  const targetStart = from + START.length
  let at = targetStart
  while (at < end && isVisible(bytes[at] as number)) at++
  if (at === targetStart || !startsWith(bytes, at, VERSION)) return undefined
  const target = bytes.toString("latin1", targetStart, at)
  at += VERSION.length
  let bodyLength = -1
  let hosts = 0
  while (at < end) {
    if (bytes[at] === CR) {
      if (at + 1 >= end || bytes[at + 1] !== LF || bodyLength < 0 || hosts !== 1) return undefined
      return { target, bodyLength, length: at + 2 - from }
    }
    const nameStart = at
    while (at < end && tokenBytes[bytes[at] as number] === 1) at++
    if (at === nameStart || bytes[at] !== COLON) return undefined
    const nameEnd = at++
    while (at < end && isBlank(bytes[at] as number)) at++
    const valueStart = at
    while (at < end && isText(bytes[at] as number)) at++
    if (at + 1 >= end || bytes[at] !== CR || bytes[at + 1] !== LF) return undefined
    let valueEnd = at
    while (valueEnd > valueStart && isBlank(bytes[valueEnd - 1] as number)) valueEnd--
    const name = bytes.toString("latin1", nameStart, nameEnd).toLowerCase()
    const hasBlankBehind = valueEnd < at
    at += 2
    if (name === "content-length") {
      // `node:http` takes some blanks behind a length and refuses others: it is to say which.
      if (bodyLength >= 0 || hasBlankBehind) return undefined
      bodyLength = numberIn(bytes, valueStart, valueEnd)
      if (bodyLength < 0) return undefined
    } else if (name === "host") hosts++
    else if (name === "connection") {
      if (bytes.toString("latin1", valueStart, valueEnd).toLowerCase() !== "keep-alive") return undefined
    } else if (JUDGED.has(name)) return undefined
  }
  return undefined
}

/** Digits only, and not many; -1 for anything else. */
function numberIn(bytes: Buffer, from: number, to: number): number {
  if (to <= from || to - from > MOST_DIGITS) return -1
  let number = 0
  for (let i = from; i < to; i++) {
    const digit = bytes[i] as number
    if (digit < ZERO || digit > NINE) return -1
    number = number * 10 + (digit - ZERO)
  }
  return number
}

function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  if (at + text.length > bytes.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false
  return true
}

function isVisible(byte: number): boolean {
  return byte > SPACE && byte <= TILDE
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB
}

function isText(byte: number): boolean {
  return (byte >= SPACE && byte <= TILDE) || byte === TAB
}
