// Reads the body of a message from the bytes of its connection, in whatever pieces they arrive.

import { HeadReader, InvalidMessage, readFields } from "./fields.js"

/** How a body is framed: no body, a number of bytes, chunks, or everything until the connection ends. */
export type Framing = "none" | "chunked" | "until-close" | number

/** Receives a body as it is read. */
export interface BodySink {
  body(bytes: Buffer): void
  /** The whole body has arrived. Trailers are name, value, name, value. */
  ended(trailers: readonly string[]): void
}

type State =
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

const MAX_TRAILER_BYTES = 65_536
/** The longest line with a chunk's size and extensions. */
const MAX_CHUNK_LINE_BYTES = 4_096
/** 12 hexadecimal digits are below 2^53. */
const MAX_SIZE_DIGITS = 12

const END_OF_LINE = Buffer.from("\r\n")
const NO_TRAILERS: readonly string[] = []
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const SEMICOLON = 0x3b
const DELETE = 0x7f

/** Reads one body after the other. */
export class BodyReader {
  readonly #sink: BodySink
  readonly #trailer = new HeadReader(MAX_TRAILER_BYTES)
  #state: State = "over"
  /** The bytes that are missing of the body, or of the chunk. */
  #left = 0
  #digits = 0
  #lineBytes = 0

  constructor(sink: BodySink) {
    this.#sink = sink
  }

  get isOver(): boolean {
    return this.#state === "over"
  }

  /** Starts a body. A body that is empty by its framing has ended at once, without a call of the sink. */
  begin(framing: Framing): void {
    this.#trailer.reset()
    if (framing === "none" || framing === 0) this.#state = "over"
    else if (framing === "chunked") this.#startChunkLine()
    else if (framing === "until-close") this.#state = "until-close"
    else {
      this.#state = "length"
      this.#left = framing
    }
  }

  /** Reads from `at` to the end of the body or of the bytes, and returns where it stopped. Throws InvalidMessage. */
  read(bytes: Buffer, at: number): number {
    let next = at
    while (next < bytes.length && this.#state !== "over") {
      switch (this.#state) {
        case "length":
        case "chunk-data":
          next = this.#readData(bytes, next)
          break
        case "until-close":
          this.#sink.body(next === 0 ? bytes : bytes.subarray(next))
          return bytes.length
        case "trailer":
          next = this.#readTrailer(bytes, next)
          break
        default:
          next = this.#readChunkLine(bytes, next)
      }
    }
    return next
  }

  /** The connection has ended. Returns false when the body is not complete. */
  end(): boolean {
    if (this.#state === "until-close") this.#finish(NO_TRAILERS)
    return this.#state === "over"
  }

  #readData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    const isChunk = this.#state === "chunk-data"
    this.#left -= end - at
    // Before the call of the sink, which may start the next body.
    if (this.#left === 0) this.#state = isChunk ? "data-cr" : "over"
    this.#sink.body(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    if (this.#left === 0 && !isChunk) this.#sink.ended(NO_TRAILERS)
    return end
  }

  #startChunkLine(): void {
    this.#state = "chunk-size"
    this.#left = 0
    this.#digits = 0
    this.#lineBytes = 0
  }

  /** `5;name=value\r\n` before a chunk, and `\r\n` after it. */
  #readChunkLine(bytes: Buffer, start: number): number {
    let at = start
    while (at < bytes.length) {
      const byte = bytes[at++] as number
      if (++this.#lineBytes > MAX_CHUNK_LINE_BYTES)
        throw new InvalidMessage("has a chunk line that is too long")
      switch (this.#state) {
        case "chunk-size":
          if (byte === CR) this.#state = "chunk-lf"
          else if (byte === SEMICOLON) this.#state = "chunk-extension"
          else this.#addDigit(byte)
          if (this.#digits === 0) throw new InvalidMessage("has a chunk without a size")
          break
        case "chunk-extension":
          if (byte === CR) this.#state = "chunk-lf"
          else if ((byte < SPACE && byte !== TAB) || byte === DELETE)
            throw new InvalidMessage("has a malformed chunk extension")
          break
        case "chunk-lf":
          if (byte !== LF) throw new InvalidMessage("has a malformed end of line in its chunks")
          if (this.#left > 0) {
            this.#state = "chunk-data"
            return at
          }
          this.#state = "trailer"
          // So an empty trailer ends with the same blank line as one that has lines.
          this.#trailer.startWith(END_OF_LINE)
          return at
        case "data-cr":
          if (byte !== CR) throw new InvalidMessage("has a chunk that is longer than it says")
          this.#state = "data-lf"
          break
        default:
          if (byte !== LF) throw new InvalidMessage("has a chunk that is longer than it says")
          this.#startChunkLine()
      }
    }
    return at
  }

  #addDigit(byte: number): void {
    const lower = byte | 0x20
    const digit =
      byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
    if (digit < 0 || ++this.#digits > MAX_SIZE_DIGITS) throw new InvalidMessage("has a malformed chunk size")
    this.#left = this.#left * 16 + digit
  }

  #readTrailer(bytes: Buffer, at: number): number {
    const end = this.#trailer.read(bytes, at, trailerTooLarge)
    if (end < 0) return bytes.length
    const { text } = this.#trailer
    this.#finish(text.length === END_OF_LINE.length ? NO_TRAILERS : readTrailers(text))
    return end
  }

  #finish(trailers: readonly string[]): void {
    this.#state = "over"
    this.#sink.ended(trailers)
  }
}

/** Throws if a trailer contains a framing header: the next reader of the message might follow it. */
function readTrailers(text: string): string[] {
  const trailers = readFields(text, END_OF_LINE.length)
  for (let i = 0; i < trailers.length; i += 2)
    if (/^(?:content-length|transfer-encoding)$/i.test(trailers[i] as string))
      throw new InvalidMessage("has a trailer that frames it")
  return trailers
}

function trailerTooLarge(): never {
  throw new InvalidMessage("has a trailer that is too large")
}
