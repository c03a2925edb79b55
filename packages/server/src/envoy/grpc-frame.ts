// Messages in a gRPC stream: a byte that says whether it is compressed, four with its length, and then the message.

import { GrpcError } from "./grpc-status.js"
import type { ProtobufWriter } from "./protobuf-writer.js"

const PREFIX = 5
const LEAST_KEPT = 64
const NOTHING = Buffer.alloc(0)

/** Finds messages in what arrives, cut wherever it was cut. */
export class FrameReader {
  readonly #maxBytes: number
  readonly #encoding: string | undefined
  /** What has come and is not read: as it came, or put together in bytes of our own, with room for more. */
  #bytes: Buffer = NOTHING
  #isOurs = false
  #at = 0
  #end = 0

  /** `encoding` is what the client said it may compress by. */
  constructor(maxBytes: number, encoding: string | undefined) {
    this.#maxBytes = maxBytes
    this.#encoding = encoding
  }

  /** Bytes of a message that is not complete. */
  get held(): number {
    return this.#end - this.#at
  }

  /** Bytes that are kept for it. */
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
    // Room for a large message is not kept for the next one.
    if (this.held === 0) this.#use(NOTHING, false)
    return message
  }

  /** Makes what is held our own, with room for more: a few bytes must not keep the whole chunk that they came in. */
  #keep(more: number): void {
    if (this.#isOurs && this.#end + more <= this.#bytes.length) return
    const { held } = this
    // Twice as much as there is: what comes byte by byte is not copied with every one of them.
    const larger = Buffer.allocUnsafeSlow(Math.max(LEAST_KEPT, (held + more) * 2))
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
      throw new GrpcError("UNIMPLEMENTED", `grpc-encoding: only identity is taken, got ${this.#encoding}`)
    if (isCompressed)
      throw new GrpcError(
        "INVALID_ARGUMENT",
        "a message is marked as compressed, and grpc-encoding says by nothing",
      )
    if (length > this.#maxBytes)
      throw new GrpcError("RESOURCE_EXHAUSTED", `a message may have ${this.#maxBytes} bytes, got ${length}`)
    return length
  }
}

/** The message in a chunk that holds it and nothing else, as nearly all do. */
export function wholeMessage(chunk: Buffer, maxBytes: number): Buffer | undefined {
  if (chunk.length < PREFIX || chunk.length > maxBytes || chunk[0] !== 0) return undefined
  return chunk.readUInt32BE(1) === chunk.length - PREFIX ? chunk.subarray(PREFIX) : undefined
}

/** A message in its frame. */
export function framed(writer: ProtobufWriter, write: (writer: ProtobufWriter) => void): Buffer {
  writer.begin(PREFIX)
  write(writer)
  const frame = writer.finish()
  frame[0] = 0
  frame.writeUInt32BE(frame.length - PREFIX, 1)
  return frame
}
