// Writes protobuf's wire format. As in proto3, default values are not written.

import { ByteWriter } from "../byte-writer.js"
import { BYTES, VARINT } from "./protobuf-reader.js"

const SHORT_TEXT = 40

export class ProtobufWriter extends ByteWriter {
  uint(field: number, value: number): void {
    if (value === 0) return
    this.room(20)
    this.#varint(field * 8 + VARINT)
    this.#varint(value)
  }

  string(field: number, value: string): void {
    if (value === "") return
    this.room(10 + value.length * 3)
    this.#varint(field * 8 + BYTES)
    if (value.length <= SHORT_TEXT && this.#plain(value)) return
    const length = Buffer.byteLength(value)
    this.#varint(length)
    this.buffer.write(value, this.length, "utf8")
    this.length += length
  }

  /** Writes a short ASCII text, which is faster than calling the encoder. False for other text. */
  #plain(value: string): boolean {
    const start = this.length + 1
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      if (code >= 0x80) return false
      this.buffer[start + i] = code
    }
    this.buffer[this.length] = value.length
    this.length = start + value.length
    return true
  }

  bytes(field: number, value: Uint8Array): void {
    this.room(10 + value.length)
    this.#varint(field * 8 + BYTES)
    this.#varint(value.length)
    this.buffer.set(value, this.length)
    this.length += value.length
  }

  /** Begins a nested message. Pass the result to `leave`. */
  enter(field: number): number {
    this.room(10)
    this.#varint(field * 8 + BYTES)
    return this.length++
  }

  /** Ends the nested message. One byte is reserved for its length, which is nearly always enough. */
  leave(start: number): void {
    const length = this.length - start - 1
    if (length < 0x80) {
      this.buffer[start] = length
      return
    }
    const extra = sizeOf(length) - 1
    this.room(extra)
    this.buffer.copyWithin(start + 1 + extra, start + 1, this.length)
    this.length = start
    this.#varint(length)
    this.length += length
  }

  /** Starts a message and reserves bytes in front of it. */
  begin(count: number): void {
    this.length = count
  }

  /** Returns a copy of the bytes written and empties the writer. */
  finish(): Buffer {
    const message = Buffer.allocUnsafe(this.length)
    this.buffer.copy(message, 0, 0, this.length)
    this.clear()
    return message
  }

  #varint(value: number): void {
    while (value >= 0x80) {
      this.buffer[this.length++] = (value % 0x80) | 0x80
      value = Math.floor(value / 0x80)
    }
    this.buffer[this.length++] = value
  }
}

function sizeOf(length: number): number {
  let size = 1
  for (; length >= 0x80; length = Math.floor(length / 0x80)) size++
  return size
}
