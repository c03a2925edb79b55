// Reads protobuf's wire format. What arrives is not to be trusted: every length is checked before it is followed, and what
// is not known is skipped, as newer clients may say more.

import { isUtf8 } from "node:buffer"

/** The bytes are no message. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError"
}

export const VARINT = 0
const FIXED64 = 1
export const BYTES = 2
const GROUP_START = 3
const GROUP_END = 4
const FIXED32 = 5
/** Groups in groups that are skipped; nobody has sent any for twenty years. */
const DEEPEST = 16
/** Most texts are short and plain, and those are cheaper to put together by hand than to hand to the decoder. */
const SHORT_TEXT = 24

export class ProtobufReader {
  readonly #bytes: Buffer
  #at: number
  #end: number
  /** The field and the wire type of the last tag. */
  field = 0
  type = VARINT

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#at = 0
    this.#end = bytes.length
  }

  /** Reads the next tag; false at the end of the message. */
  next(): boolean {
    if (this.#at >= this.#end) return false
    const tag = this.uint32()
    this.field = tag >>> 3
    this.type = tag & 7
    if (this.field === 0) throw new ProtobufError("a field has number 0")
    return true
  }

  /** Whether the last tag is this field. One of another wire type is one that is not known. */
  is(field: number, type: number): boolean {
    return this.field === field && this.type === type
  }

  /** A varint cut to 32 bits, as protobuf wants it. */
  uint32(): number {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte()
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
    throw new ProtobufError("a number does not end")
  }

  /** A varint of 64 bits; beyond what is exact it is the largest number that is. */
  uint64(): number {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return Math.min(value, Number.MAX_SAFE_INTEGER)
    }
    throw new ProtobufError("a number does not end")
  }

  /** Text. What is not UTF-8 is refused: two clients must not become one by what replaces their bytes. */
  string(): string {
    const start = this.#at
    const end = this.#lengthEnd()
    const from = this.#at
    this.#at = end
    if (end - from <= SHORT_TEXT) {
      let text = ""
      let at = from
      for (; at < end; at++) {
        const byte = this.#bytes[at] as number
        if (byte >= 0x80) break
        text += String.fromCharCode(byte)
      }
      if (at === end) return text
    }
    const bytes = this.#bytes.subarray(from, end)
    if (!isUtf8(bytes)) throw new ProtobufError(`the text at byte ${start} is not UTF-8`)
    return bytes.toString("utf8")
  }

  bytes(): Buffer {
    const end = this.#lengthEnd()
    const bytes = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return bytes
  }

  /** Begins a message inside of this one; `leave` takes what this gives. */
  enter(): number {
    const outer = this.#end
    this.#end = this.#lengthEnd()
    return outer
  }

  /** Ends it, wherever its reading has come to. */
  leave(outer: number): void {
    this.#at = this.#end
    this.#end = outer
  }

  /** Passes over the value of the last tag. */
  skip(): void {
    this.#skip(0)
  }

  #skip(depth: number): void {
    switch (this.type) {
      case VARINT:
        this.uint32()
        return
      case FIXED64:
        this.#pass(8)
        return
      case BYTES:
        this.#at = this.#lengthEnd()
        return
      case FIXED32:
        this.#pass(4)
        return
      case GROUP_START:
        this.#skipGroup(this.field, depth + 1)
        return
      default:
        throw new ProtobufError(`wire type ${this.type} does not exist here`)
    }
  }

  #skipGroup(field: number, depth: number): void {
    if (depth > DEEPEST) throw new ProtobufError(`groups are nested deeper than ${DEEPEST}`)
    while (this.next()) {
      if (this.is(field, GROUP_END)) return
      this.#skip(depth)
    }
    throw new ProtobufError("a group does not end")
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new ProtobufError("the message ends inside a field")
    return this.#bytes[this.#at++] as number
  }

  #pass(count: number): void {
    if (count > this.#end - this.#at) throw new ProtobufError("the message ends inside a field")
    this.#at += count
  }

  /** Reads a length, and says where what it measures ends. */
  #lengthEnd(): number {
    const length = this.uint32()
    if (length > this.#end - this.#at)
      throw new ProtobufError(`a field of ${length} bytes is longer than what is left`)
    return this.#at + length
  }
}
