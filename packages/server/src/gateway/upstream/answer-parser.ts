// An upstream's answers, from the bytes of its connection, however they are cut. Heads are read strictly: whatever two parsers
// could read differently is rejected.

import { BodyReader, type BodySink, type Framing } from "../../http1/body-reader.js"
import {
  HeadReader,
  hasWord,
  InvalidMessage,
  isValueByte,
  readFields,
  readLength,
} from "../../http1/fields.js"

/** The head of an answer. */
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

/** Receives what an answer holds, in its order. */
export interface AnswerReader extends BodySink {
  /** A 1xx answer other than 101. */
  interim(head: AnswerHead): void
  head(head: AnswerHead): void
  /** A 101 answer: what follows is another protocol, and its first bytes may be here already. */
  switched(head: AnswerHead, rest: Buffer): void
}

export interface Asked {
  /** The answer to HEAD has the headers of a body, and no body. */
  readonly isHead: boolean
  readonly isUpgrade: boolean
}

const MAX_HEAD_BYTES = 65_536
const MAX_INTERIM = 16
const NO_TRAILERS: readonly string[] = []

export class AnswerParser {
  readonly #reader: AnswerReader
  readonly #head = new HeadReader(MAX_HEAD_BYTES)
  readonly #body: BodyReader
  #asked: Asked = { isHead: false, isUpgrade: false }
  #isInHead = false
  #interimCount = 0
  #keepsAlive = false
  #hasBytes = false

  constructor(reader: AnswerReader) {
    this.#reader = reader
    this.#body = new BodyReader(reader)
  }

  /** Prepares for the answer to a request. */
  begin(asked: Asked): void {
    this.#asked = asked
    this.#isInHead = true
    this.#interimCount = 0
    this.#hasBytes = false
    this.#head.reset()
    this.#body.begin("none")
  }

  get isOver(): boolean {
    return !this.#isInHead && this.#body.isOver
  }

  /** Whether anything at all has come of the answer. */
  get hasBytes(): boolean {
    return this.#hasBytes
  }

  /** Whether the connection may be used again, once the answer is over. */
  get keepsAlive(): boolean {
    return this.#keepsAlive
  }

  /** Reads on. Throws InvalidMessage. Bytes behind the end of an answer were not asked for: the connection is not kept. */
  read(bytes: Buffer): void {
    this.#hasBytes = true
    let at = 0
    while (at < bytes.length) {
      if (this.#isInHead) at = this.#readHead(bytes, at)
      else if (!this.#body.isOver) at = this.#body.read(bytes, at)
      else {
        this.#keepsAlive = false
        return
      }
    }
  }

  /** The connection has ended. Returns false when the answer is not complete. */
  end(): boolean {
    return !this.#isInHead && this.#body.end()
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = this.#head.read(bytes, at, headTooLarge)
    if (end < 0) return bytes.length
    const head = parseAnswerHead(this.#head.text)
    const { status } = head
    if (status === 101) {
      if (!this.#asked.isUpgrade) throw new InvalidMessage("switches protocols without being asked to")
      this.#isInHead = false
      this.#keepsAlive = false
      this.#reader.switched(head, bytes.subarray(end))
      return bytes.length
    }
    if (status < 200) {
      if (++this.#interimCount > MAX_INTERIM) throw new InvalidMessage("has too many interim answers")
      this.#reader.interim(head)
      return end
    }
    this.#startBody(head)
    return end
  }

  #startBody(head: AnswerHead): void {
    const { connection } = head
    const framing = framingOf(head, this.#asked)
    this.#isInHead = false
    this.#keepsAlive =
      framing !== "until-close" &&
      (head.minorVersion === 1 ? !hasWord(connection, "close") : hasWord(connection, "keep-alive"))
    this.#body.begin(framing)
    const isEmpty = this.#body.isOver
    this.#reader.head(head)
    if (isEmpty) this.#reader.ended(NO_TRAILERS)
  }
}

function framingOf({ status, isChunked, contentLength }: AnswerHead, { isHead }: Asked): Framing {
  if (isHead || status === 204 || status === 304) return "none"
  return isChunked ? "chunked" : (contentLength ?? "until-close")
}

function headTooLarge(): never {
  throw new InvalidMessage("has a head that is too large")
}

const SPACE = 0x20
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39

/** Parses a head; `text` includes the line ends, one character per byte. Throws `InvalidMessage`. */
function parseAnswerHead(text: string): AnswerHead {
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
