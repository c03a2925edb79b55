// A header block that comes in several frames.

import { ConnectionError } from "./error-code.js"

/** Far more than is taken of headers; up to here a client is told that it was too much, behind it is cut. */
const MOST_BYTES = 65_536
/** Four would do for so many bytes. Frames with little or nothing in them must not come without end. */
const MOST_FRAMES = 16

export class ArrivingBlock {
  readonly stream: number
  readonly endsStream: boolean
  readonly #parts: Buffer[] = []
  #length = 0

  constructor(stream: number, endsStream: boolean) {
    this.stream = stream
    this.endsStream = endsStream
  }

  get length(): number {
    return this.#length
  }

  push(bytes: Buffer): void {
    // A copy: a few bytes must not keep the whole chunk that they came in.
    this.#parts.push(Buffer.from(bytes))
    this.#length += bytes.length
    if (this.#length > MOST_BYTES || this.#parts.length > MOST_FRAMES)
      throw new ConnectionError("ENHANCE_YOUR_CALM", "headers without end")
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts, this.#length)
  }
}
