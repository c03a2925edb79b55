// Writes protobuf's wire format. As in proto3, default values are not written.

const VARINT = 0
const BYTES = 2
const MIN_BYTES = 256
const SHORT_TEXT = 40
/** A larger buffer, grown for one large message, is not kept. */
const MAX_KEPT = 65_536

export class ProtobufWriter {
  #bytes = Buffer.allocUnsafe(MIN_BYTES)
  #at = 0

  uint(field: number, value: number): void {
    if (value === 0) return
    this.#room(20)
    this.#varint(field * 8 + VARINT)
    this.#varint(value)
  }

  string(field: number, value: string): void {
    if (value === "") return
    this.#room(10 + value.length * 3)
    this.#varint(field * 8 + BYTES)
    if (value.length <= SHORT_TEXT && this.#plain(value)) return
    const length = Buffer.byteLength(value)
    this.#varint(length)
    this.#bytes.write(value, this.#at, "utf8")
    this.#at += length
  }

  /** Writes a short ASCII text, which is faster than calling the encoder. False for other text. */
  #plain(value: string): boolean {
    const start = this.#at + 1
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      if (code >= 0x80) return false
      this.#bytes[start + i] = code
    }
    this.#bytes[this.#at] = value.length
    this.#at = start + value.length
    return true
  }

  bytes(field: number, value: Uint8Array): void {
    this.#room(10 + value.length)
    this.#varint(field * 8 + BYTES)
    this.#varint(value.length)
    this.#bytes.set(value, this.#at)
    this.#at += value.length
  }

  /** Begins a nested message. Pass the result to `leave`. */
  enter(field: number): number {
    this.#room(10)
    this.#varint(field * 8 + BYTES)
    return this.#at++
  }

  /** Ends the nested message. One byte is reserved for its length, which is nearly always enough. */
  leave(start: number): void {
    const length = this.#at - start - 1
    if (length < 0x80) {
      this.#bytes[start] = length
      return
    }
    const extra = sizeOf(length) - 1
    this.#room(extra)
    this.#bytes.copyWithin(start + 1 + extra, start + 1, this.#at)
    this.#at = start
    this.#varint(length)
    this.#at += length
  }

  /** Starts a message and reserves bytes in front of it. */
  begin(count: number): void {
    this.#at = count
  }

  /** Returns a copy of the bytes written and empties the writer. */
  finish(): Buffer {
    const written = Buffer.from(this.#bytes.subarray(0, this.#at))
    this.#at = 0
    if (this.#bytes.length > MAX_KEPT) this.#bytes = Buffer.allocUnsafe(MIN_BYTES)
    return written
  }

  #varint(value: number): void {
    while (value >= 0x80) {
      this.#bytes[this.#at++] = (value % 0x80) | 0x80
      value = Math.floor(value / 0x80)
    }
    this.#bytes[this.#at++] = value
  }

  #room(count: number): void {
    const needed = this.#at + count
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

function sizeOf(length: number): number {
  let size = 1
  for (; length >= 0x80; length = Math.floor(length / 0x80)) size++
  return size
}
