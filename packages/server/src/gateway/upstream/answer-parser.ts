// Parses an upstream's answers from the bytes of its connection, however they are split into reads.

import { type AnswerHead, hasWord, InvalidAnswer, parseAnswerHead, parseFields } from "./answer-head.js"

/** Receives the parts of an answer in order. */
export interface AnswerReader {
  /** An interim answer: 1xx except 101. */
  informed(head: AnswerHead): void
  headed(head: AnswerHead): void
  body(bytes: Buffer): void
  /** The answer is complete. Trailers: name, value, name, value. */
  ended(trailers: readonly string[]): void
  /** 101: another protocol follows; `rest` holds its first bytes, if any. */
  switched(head: AnswerHead, rest: Buffer): void
}

/** What the parser must know of the request. */
export interface Asked {
  /** The answer to HEAD has the headers of a body but no body. */
  readonly isHead: boolean
  readonly isUpgrade: boolean
}

const MAX_HEAD_BYTES = 65_536
const MAX_INTERIM_ANSWERS = 16
const MAX_CHUNK_LINE_BYTES = 4_096

const END_OF_LINE = Buffer.from("\r\n")
const BLANK_LINE = Buffer.from("\r\n\r\n")
const NO_TRAILERS: readonly string[] = []

const CR = 0x0d
const LF = 0x0a
const SEMICOLON = 0x3b

type State =
  | "head"
  | "length"
  | "chunk-size"
  | "chunk-extension"
  | "chunk-lf"
  | "chunk-data"
  | "data-cr"
  | "data-lf"
  | "trailer"
  | "until-close"
  | "over"

export class AnswerParser {
  readonly #reader: AnswerReader
  #asked: Asked = { isHead: false, isUpgrade: false }
  #state: State = "over"
  /** Bytes of the body or chunk that are still missing. */
  #left = 0
  #digits = 0
  #lineBytes = 0
  #informed = 0
  #keepsAlive = false
  #hasBytes = false
  /** A head or trailer that arrived in several reads. */
  #held: Buffer | undefined
  #heldBytes = 0

  constructor(reader: AnswerReader) {
    this.#reader = reader
  }

  /** Prepares for the answer to a request. */
  begin(asked: Asked): void {
    this.#asked = asked
    this.#state = "head"
    this.#informed = 0
    this.#hasBytes = false
    this.#held = undefined
    this.#heldBytes = 0
  }

  get isOver(): boolean {
    return this.#state === "over"
  }

  /** Whether any byte of the answer has arrived. */
  get hasBytes(): boolean {
    return this.#hasBytes
  }

  /** Whether the connection may be reused once the answer is over. */
  get keepsAlive(): boolean {
    return this.#keepsAlive
  }

  /** Parses the next bytes. Throws `InvalidAnswer`. Bytes after the end of the answer rule out reuse of the connection. */
  read(bytes: Buffer): void {
    this.#hasBytes = true
    let at = 0
    while (at < bytes.length) {
      switch (this.#state) {
        case "head":
          at = this.#readHead(bytes, at)
          break
        case "length":
        case "chunk-data":
          at = this.#readBody(bytes, at)
          break
        case "until-close":
          this.#reader.body(at === 0 ? bytes : bytes.subarray(at))
          return
        case "trailer":
          at = this.#readTrailer(bytes, at)
          break
        case "over":
          this.#keepsAlive = false
          return
        default:
          at = this.#readChunkLine(bytes, at)
      }
    }
  }

  /** The upstream has closed the connection. False when the answer is not complete. */
  end(): boolean {
    if (this.#state === "until-close") this.#finish(NO_TRAILERS)
    return this.#state === "over"
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = this.#blockEnd(bytes, at)
    if (end < 0) return bytes.length
    const head = parseAnswerHead(this.#block(bytes, at, end))
    const { status } = head
    if (status === 101) {
      if (!this.#asked.isUpgrade) throw new InvalidAnswer("switches protocols without being asked to")
      this.#state = "over"
      this.#keepsAlive = false
      this.#reader.switched(head, bytes.subarray(end))
      return bytes.length
    }
    if (status < 200) {
      if (++this.#informed > MAX_INTERIM_ANSWERS) throw new InvalidAnswer("has too many interim answers")
      this.#reader.informed(head)
      return end
    }
    this.#startBody(head)
    return end
  }

  #startBody(head: AnswerHead): void {
    const { status, isChunked, contentLength, connection } = head
    const isBodiless = this.#asked.isHead || status === 204 || status === 304
    this.#keepsAlive =
      head.minorVersion === 1 ? !hasWord(connection, "close") : hasWord(connection, "keep-alive")
    this.#left = contentLength ?? 0
    if (isBodiless || (!isChunked && contentLength === 0)) {
      this.#reader.headed(head)
      this.#finish(NO_TRAILERS)
      return
    }
    if (isChunked) this.#startChunkLine()
    else if (contentLength !== undefined) this.#state = "length"
    else {
      this.#state = "until-close"
      this.#keepsAlive = false
    }
    this.#reader.headed(head)
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    this.#reader.body(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    if (this.#left === 0) {
      if (this.#state === "length") this.#finish(NO_TRAILERS)
      else this.#state = "data-cr"
    }
    return end
  }

  #startChunkLine(): void {
    this.#state = "chunk-size"
    this.#left = 0
    this.#digits = 0
    this.#lineBytes = 0
  }

  /** Parses `5;name=value\r\n` before a chunk and `\r\n` after it. */
  #readChunkLine(bytes: Buffer, start: number): number {
    let at = start
    while (at < bytes.length) {
      const byte = bytes[at++] as number
      if (++this.#lineBytes > MAX_CHUNK_LINE_BYTES)
        throw new InvalidAnswer("has a chunk with an extension that is too long")
      switch (this.#state) {
        case "chunk-size":
          if (byte === CR) this.#state = "chunk-lf"
          else if (byte === SEMICOLON) this.#state = "chunk-extension"
          else this.#addDigit(byte)
          if (byte === CR || byte === SEMICOLON) this.#checkSize()
          break
        case "chunk-extension":
          if (byte === CR) this.#state = "chunk-lf"
          else if (byte < 0x20 && byte !== 0x09) throw new InvalidAnswer("has a malformed chunk extension")
          break
        case "chunk-lf":
          if (byte !== LF) throw new InvalidAnswer("has a malformed end of line in its chunks")
          if (this.#left > 0) {
            this.#state = "chunk-data"
            return at
          }
          this.#state = "trailer"
          // With this CRLF in front, an empty trailer ends in a blank line like any other.
          this.#hold(END_OF_LINE, 0)
          return at
        case "data-cr":
          if (byte !== CR) throw new InvalidAnswer("has a chunk that is longer than it says")
          this.#state = "data-lf"
          break
        default:
          if (byte !== LF) throw new InvalidAnswer("has a chunk that is longer than it says")
          this.#startChunkLine()
      }
    }
    return at
  }

  #addDigit(byte: number): void {
    const lower = byte | 0x20
    const digit =
      byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
    // 12 digits are below 2^53.
    if (digit < 0 || ++this.#digits > 12) throw new InvalidAnswer("has a malformed chunk size")
    this.#left = this.#left * 16 + digit
  }

  #checkSize(): void {
    if (this.#digits === 0) throw new InvalidAnswer("has a chunk without a size")
  }

  #readTrailer(bytes: Buffer, at: number): number {
    const end = this.#blockEnd(bytes, at)
    if (end < 0) return bytes.length
    const text = this.#block(bytes, at, end)
    this.#finish(text.length === 2 ? NO_TRAILERS : parseFields(text, 2))
    return end
  }

  #finish(trailers: readonly string[]): void {
    this.#state = "over"
    this.#reader.ended(trailers)
  }

  /** Index after the blank line that ends a head or trailer. -1 if it has not arrived: then the bytes so far are held. */
  #blockEnd(bytes: Buffer, at: number): number {
    const before = this.#heldBytes
    if (before === 0) {
      const found = bytes.indexOf(BLANK_LINE, at)
      if (found >= 0 && found - at < MAX_HEAD_BYTES) return found + 4
    }
    const held = this.#hold(bytes, at)
    const found = held.indexOf(BLANK_LINE, Math.max(0, before - 3))
    if (found >= 0) return at + found + 4 - before
    if (held.length === MAX_HEAD_BYTES) throw new InvalidAnswer("has a head that is too large")
    return -1
  }

  /** The text of a block up to its blank line, including the end of its last line. */
  #block(bytes: Buffer, at: number, end: number): string {
    const held = this.#held
    if (held === undefined) return bytes.toString("latin1", at, end - 2)
    const text = held.toString("latin1", 0, held.indexOf(BLANK_LINE) + 2)
    this.#held = undefined
    this.#heldBytes = 0
    return text
  }

  #hold(bytes: Buffer, at: number): Buffer {
    this.#held ??= Buffer.alloc(MAX_HEAD_BYTES)
    this.#heldBytes += bytes.copy(this.#held, this.#heldBytes, at)
    return this.#held.subarray(0, this.#heldBytes)
  }
}
