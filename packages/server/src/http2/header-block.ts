// Header blocks: writing them, and collecting those that arrive in several frames.

import { ConnectionError } from "./frame.js"

/** Indexes in the static table, for the names that this server sends. */
const NAMES: Readonly<Record<string, number>> = { ":status": 8, "content-type": 31 }

/** `:status: 200` as one entry of the static table. */
const STATUS_200 = 0x88

/**
 * Encodes headers as a block. It adds nothing to the dynamic table, so a block means the same on every connection and can be
 * made once and sent often.
 */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (name === ":status" && value === "200") parts.push(Buffer.of(STATUS_200))
    else parts.push(nameOf(name), text(value))
  }
  return Buffer.concat(parts)
}

/** The name of a literal that is not indexed. */
function nameOf(name: string): Buffer {
  const index = NAMES[name]
  return index === undefined ? Buffer.concat([Buffer.of(0), text(name)]) : integer(index, 4)
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1")
  return Buffer.concat([integer(bytes.length, 7), bytes])
}

function integer(value: number, prefixBits: number): Buffer {
  const most = (1 << prefixBits) - 1
  if (value < most) return Buffer.of(value)
  const bytes = [most]
  for (value -= most; value >= 0x80; value >>>= 7) bytes.push((value & 0x7f) | 0x80)
  return Buffer.from([...bytes, value])
}

/** Far above the accepted size. Below this bound the client gets an answer that says so; beyond it the connection ends. */
const MAX_BYTES = 65_536
/** Four frames would do for that many bytes. The bound stops an endless series of nearly empty frames. */
const MAX_FRAMES = 16

/** Collects a header block that arrives in several frames. */
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
    // A copy, because a few bytes would keep the whole chunk in memory.
    this.#parts.push(Buffer.from(bytes))
    this.#length += bytes.length
    if (this.#length > MAX_BYTES || this.#parts.length > MAX_FRAMES)
      throw new ConnectionError("ENHANCE_YOUR_CALM", "the header block is too long")
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts, this.#length)
  }
}
