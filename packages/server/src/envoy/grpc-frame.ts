// gRPC message framing: one byte that says whether the message is compressed, four bytes of length, then the message.

import { GrpcError } from "./grpc-status.js"
import type { ProtobufWriter } from "./protobuf-writer.js"

const PREFIX = 5
const MIN_BUFFER_BYTES = 64
const EMPTY = Buffer.alloc(0)

/** Extracts messages from chunks, however the chunks are split. */
export class FrameReader {
  readonly #maxBytes: number
  readonly #encoding: string | undefined
  /** Bytes not yet read: the last chunk itself, or a buffer of our own with room for more. */
  #bytes: Buffer = EMPTY
  #isOurs = false
  #at = 0
  #end = 0

  /** `encoding` is the client's grpc-encoding. */
  constructor(maxBytes: number, encoding: string | undefined) {
    this.#maxBytes = maxBytes
    this.#encoding = encoding
  }

  /** Bytes of an incomplete message. */
  get held(): number {
    return this.#end - this.#at
  }

  /** Memory used for an incomplete message. */
  get kept(): number {
    return this.#isOurs ? this.#bytes.length : this.held
  }

  push(chunk: Buffer): void {
    if (this.held === 0) {
      this.#use(chunk, false)
      this.#end = chunk.length
    } else {
      this.#keep(chunk.length)
      this.#bytes.set(chunk, this.#end)
      this.#end += chunk.length
    }
  }

  /** The next message, or undefined until more has arrived. */
  next(): Buffer | undefined {
    const needed = this.held < PREFIX ? PREFIX : PREFIX + this.#length()
    if (this.held < needed) {
      if (this.held > 0) this.#keep(0)
      return undefined
    }
    const start = this.#at + PREFIX
    this.#at += needed
    const message = this.#bytes.subarray(start, this.#at)
    // Release the buffer of a large message.
    if (this.held === 0) this.#use(EMPTY, false)
    return message
  }

  /** Copies the held bytes to a buffer of our own: a few bytes must not keep a whole chunk in memory. */
  #keep(more: number): void {
    if (this.#isOurs && this.#end + more <= this.#bytes.length) return
    const { held } = this
    // Double the size, so that bytes that arrive one by one are not copied each time.
    const larger = Buffer.allocUnsafeSlow(Math.max(MIN_BUFFER_BYTES, (held + more) * 2))
    this.#bytes.copy(larger, 0, this.#at, this.#end)
    this.#use(larger, true)
    this.#end = held
  }

  #use(bytes: Buffer, isOurs: boolean): void {
    this.#bytes = bytes
    this.#isOurs = isOurs
    this.#at = 0
    this.#end = 0
  }

  #length(): number {
    const isCompressed = this.#bytes[this.#at] !== 0
    const length = this.#bytes.readUInt32BE(this.#at + 1)
    if (isCompressed && this.#encoding !== undefined && this.#encoding !== "identity")
      throw new GrpcError("UNIMPLEMENTED", `grpc-encoding: only identity is supported, got ${this.#encoding}`)
    if (isCompressed)
      throw new GrpcError(
        "INVALID_ARGUMENT",
        "a message is marked as compressed, but grpc-encoding names no compression",
      )
    if (length > this.#maxBytes)
      throw new GrpcError(
        "RESOURCE_EXHAUSTED",
        `a message may have at most ${this.#maxBytes} bytes, got ${length}`,
      )
    return length
  }
}

/** Writes a message with its frame. */
export function framed(writer: ProtobufWriter, write: (writer: ProtobufWriter) => void): Buffer {
  writer.begin(PREFIX)
  write(writer)
  const frame = writer.finish()
  frame[0] = 0
  frame.writeUInt32BE(frame.length - PREFIX, 1)
  return frame
}
