// Messages in a gRPC stream: a byte that says whether it is compressed, four with its length, and then the message.

import { GrpcError } from "./grpc-status.js"
import type { ProtobufWriter } from "./protobuf-writer.js"

const PREFIX = 5

/** Finds messages in what arrives, cut wherever it was cut. */
export class FrameReader {
  readonly #maxBytes: number
  readonly #encoding: string | undefined
  /** Chunks of a message that is not complete are joined when it is: joining on each would take time squared. */
  #chunks: Buffer[] = []
  #have = 0
  #need = PREFIX

  /** `encoding` is what the client said it may compress by. */
  constructor(maxBytes: number, encoding: string | undefined) {
    this.#maxBytes = maxBytes
    this.#encoding = encoding
  }

  /** Whether bytes of a message that is not complete have arrived. */
  get isInside(): boolean {
    return this.#have > 0
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#have += chunk.length
  }

  /** The next message, or undefined until more has arrived. */
  next(): Buffer | undefined {
    if (this.#have < this.#need) return undefined
    const bytes = this.#joined()
    const length = this.#lengthOf(bytes)
    this.#need = PREFIX + length
    if (bytes.length < this.#need) {
      this.#chunks = [bytes]
      return undefined
    }
    const message = bytes.subarray(PREFIX, this.#need)
    this.#chunks = bytes.length > this.#need ? [bytes.subarray(this.#need)] : []
    this.#have = bytes.length - this.#need
    this.#need = PREFIX
    return message
  }

  #joined(): Buffer {
    return this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#have)
  }

  #lengthOf(bytes: Buffer): number {
    const isCompressed = bytes[0] !== 0
    const length = bytes.readUInt32BE(1)
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
