// The head of an upstream's answer, parsed strictly: whatever two parsers could read differently is rejected.

import { hasWord, InvalidMessage, isValueByte, readFields, readLength } from "../../http1/fields.js"

export interface AnswerHead {
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

const SPACE = 0x20
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/** Parses a head; `text` includes the line ends, one character per byte. Throws `InvalidMessage`. */
export function parseAnswerHead(text: string): AnswerHead {
  const lineEnd = text.indexOf("\r\n")
  if (!text.startsWith("HTTP/1.")) throw new InvalidMessage("does not start with HTTP/1.")
  const minorVersion = text.charCodeAt(7) - DIGIT_0
  if (minorVersion !== 0 && minorVersion !== 1) throw new InvalidMessage("has an unknown version of HTTP")
  const status = text.charCodeAt(8) === SPACE ? statusAt(text, 9) : -1
  // Some servers leave out the space before an empty reason.
  if (status < 100 || lineEnd < 12 || (lineEnd > 12 && text.charCodeAt(12) !== SPACE))
    throw new InvalidMessage("has no status")
  for (let i = 13; i < lineEnd; i++) {
    if (!isValueByte(text.charCodeAt(i))) throw new InvalidMessage("has a control character in its reason")
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

/** Adds what the headers say about the body and the connection. */
function framed(
  text: string,
  fieldsAt: number,
  minorVersion: number,
  status: number,
  reason: string,
): AnswerHead {
  const headers = readFields(text, fieldsAt)
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
        if (contentLength !== undefined) throw new InvalidMessage("has more than one content length")
        contentLength = readLength(value)
        break
      case "transfer-encoding":
        if (isChunked || value.toLowerCase() !== "chunked" || minorVersion === 0)
          throw new InvalidMessage("has a transfer encoding other than chunked")
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
    throw new InvalidMessage("has both a content length and a transfer encoding")
  isDated &&= !hasWord(connection, "date")
  return {
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
