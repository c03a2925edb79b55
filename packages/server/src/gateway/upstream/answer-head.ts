// The head of an upstream's answer, parsed strictly: whatever two parsers could read differently is rejected.

import { tokenBytes } from "../../http1/token-bytes.js"

/** The upstream's answer is not valid HTTP/1.1. The message is for the log and is never sent to a client. */
export class InvalidAnswer extends Error {
  override readonly name = "InvalidAnswer"
}

export interface AnswerHead {
  /** The whole head including its line ends, one character per byte. */
  readonly text: string
  /** Index in `text` at which the header lines start. */
  readonly fieldsAt: number
  readonly minorVersion: number
  readonly status: number
  readonly reason: string
  /** As received: name, value, name, value. */
  readonly headers: string[]
  /** Undefined without a Content-Length header. */
  readonly contentLength: number | undefined
  readonly isChunked: boolean
  /** Whether it has a Date header that Connection does not list. */
  readonly isDated: boolean
  /** The Connection header in lower case, or an empty string. */
  readonly connection: string
  /** The Keep-Alive header, or an empty string. */
  readonly keepAlive: string
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/** Parses a head; `text` includes the line ends, one character per byte. Throws `InvalidAnswer`. */
export function parseAnswerHead(text: string): AnswerHead {
  const lineEnd = text.indexOf("\r\n")
  if (!text.startsWith("HTTP/1.")) throw new InvalidAnswer("does not start with HTTP/1.")
  const minorVersion = text.charCodeAt(7) - DIGIT_0
  if (minorVersion !== 0 && minorVersion !== 1) throw new InvalidAnswer("has an unknown version of HTTP")
  const status = text.charCodeAt(8) === SPACE ? statusAt(text, 9) : -1
  // Some servers leave out the space before an empty reason.
  if (status < 100 || lineEnd < 12 || (lineEnd > 12 && text.charCodeAt(12) !== SPACE))
    throw new InvalidAnswer("has no status")
  for (let i = 13; i < lineEnd; i++) {
    if (!isValueByte(text.charCodeAt(i))) throw new InvalidAnswer("has a control character in its reason")
  }
  const reason = text.slice(13, lineEnd)
  return framed(text, lineEnd + 2, minorVersion, status, reason)
}

/** The status as three digits; -1 for anything else. */
function statusAt(text: string, at: number): number {
  let status = 0
  for (let i = at; i < at + 3; i++) {
    const code = text.charCodeAt(i)
    if (!(code >= DIGIT_0 && code <= DIGIT_9)) return -1
    status = status * 10 + (code - DIGIT_0)
  }
  return status
}

/** Parses header or trailer lines from `start` to the end of the text: name, value, name, value. */
export function parseFields(text: string, start: number): string[] {
  const fields: string[] = []
  let at = start
  while (at < text.length) {
    const nameStart = at
    while (tokenBytes[text.charCodeAt(at)] === 1) at++
    // This also rejects a continuation line (obs-fold) and a blank before the colon.
    if (at === nameStart || text.charCodeAt(at) !== COLON)
      throw new InvalidAnswer("has a malformed header name")
    const name = text.slice(nameStart, at)
    at++
    while (isBlank(text.charCodeAt(at))) at++
    const valueStart = at
    let code = text.charCodeAt(at)
    while (isValueByte(code)) code = text.charCodeAt(++at)
    if (code !== CR || text.charCodeAt(at + 1) !== LF)
      throw new InvalidAnswer(`has a control character in its header ${name}`)
    let valueEnd = at
    while (valueEnd > valueStart && isBlank(text.charCodeAt(valueEnd - 1))) valueEnd--
    fields.push(name, text.slice(valueStart, valueEnd))
    at += 2
  }
  return fields
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}

function isValueByte(code: number): boolean {
  return (code >= SPACE && code !== 0x7f) || code === TAB
}

/** Adds what the headers say about the body and the connection. */
function framed(
  text: string,
  fieldsAt: number,
  minorVersion: number,
  status: number,
  reason: string,
): AnswerHead {
  const headers = parseFields(text, fieldsAt)
  let isDated = false
  let contentLength: number | undefined
  let isChunked = false
  let connection = ""
  let keepAlive = ""
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    // Only names of these lengths matter, and few other headers have one of them.
    if (name.length === 4) isDated ||= name.toLowerCase() === "date"
    if (name.length !== 14 && name.length !== 17 && name.length !== 10) continue
    const value = headers[i + 1] as string
    switch (name.toLowerCase()) {
      case "content-length":
        if (contentLength !== undefined) throw new InvalidAnswer("has more than one content length")
        contentLength = parseLength(value)
        break
      case "transfer-encoding":
        if (isChunked || value.toLowerCase() !== "chunked" || minorVersion === 0)
          throw new InvalidAnswer("has a transfer encoding other than chunked")
        isChunked = true
        break
      case "connection":
        connection += `${connection === "" ? "" : ","}${value.toLowerCase()}`
        break
      case "keep-alive":
        keepAlive = value
        break
    }
  }
  if (isChunked && contentLength !== undefined)
    throw new InvalidAnswer("has both a content length and a transfer encoding")
  isDated &&= !hasWord(connection, "date")
  return {
    text,
    fieldsAt,
    minorVersion,
    status,
    reason,
    headers,
    contentLength,
    isChunked,
    isDated,
    connection,
    keepAlive,
  }
}

function parseLength(value: string): number {
  // 15 digits are below 2^53.
  if (value === "" || value.length > 15) throw new InvalidAnswer("has a malformed content length")
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < DIGIT_0 || code > DIGIT_9) throw new InvalidAnswer("has a malformed content length")
  }
  return Number(value)
}

/** Whether a comma-separated header in lower case contains this word. */
export function hasWord(list: string, word: string): boolean {
  if (list === word) return true
  return list.includes(word) && list.split(",").some((part) => part.trim() === word)
}
