// Reads protobuf's wire format from untrusted bytes: every length is checked before use. Unknown fields are skipped, because
// newer clients may send more.

import { isUtf8 } from "node:buffer"

/** The bytes are not a valid message. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError"
}

export const VARINT = 0
const FIXED64 = 1
export const BYTES = 2
const GROUP_START = 3
const GROUP_END = 4
const FIXED32 = 5
/** How deeply skipped groups may be nested; groups are obsolete. */
const MAX_GROUP_DEPTH = 16
/** Up to this length, decoding ASCII byte by byte is faster than calling the decoder. */
const SHORT_TEXT = 24

export class ProtobufReader {
  readonly #bytes: Buffer
  #at: number
  #end: number
  /** Field number and wire type of the last tag. */
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

  /** Whether the last tag is this field. With another wire type it counts as unknown. */
  is(field: number, type: number): boolean {
    return this.field === field && this.type === type
  }

  /** A varint truncated to 32 bits, as protobuf requires. */
  uint32(): number {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte()
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
    throw new ProtobufError("a number does not end")
  }

  /** A 64-bit varint, capped at the largest exact integer. */
  uint64(): number {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return Math.min(value, Number.MAX_SAFE_INTEGER)
    }
    throw new ProtobufError("a number does not end")
  }

  /** Text. Rejects invalid UTF-8: replacement characters would make different clients the same key. */
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

  /** Enters a nested message. Pass the result to `leave`. */
  enter(): number {
    const outer = this.#end
    this.#end = this.#lengthEnd()
    return outer
  }

  /** Leaves the nested message and skips what is unread of it. */
  leave(outer: number): void {
    this.#at = this.#end
    this.#end = outer
  }

  /** Skips the value of the last tag. */
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
    if (depth > MAX_GROUP_DEPTH) throw new ProtobufError(`groups are nested deeper than ${MAX_GROUP_DEPTH}`)
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

  /** Reads a length and returns the index where its value ends. */
  #lengthEnd(): number {
    const length = this.uint32()
    if (length > this.#end - this.#at)
      throw new ProtobufError(`a field of ${length} bytes is longer than what is left`)
    return this.#at + length
  }
}
