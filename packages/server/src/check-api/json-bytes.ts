// JSON as bytes, for answers of many parts. A text is put together of pieces that are looked at again, and copied twice, when it
// is sent; bytes are written once, into the room of the answer before.

import { inQuotes, MOST_EXACT_MS } from "./json-text.js"

/** Room for about 250 decisions. */
const FIRST_ROOM = 65_536
/** What one number, or one piece that is written byte by byte, may take. */
const LONGEST_NUMBER = 32
/** From here on, a call that copies is faster than a loop. */
const LONG = 24
const MOST_INTEGER = 0x7fff_ffff
const DECIMAL_POINT = 0x2e
/** Of each number below 1,000 its three digits. */
const THREE_DIGITS = Buffer.from(
  Array.from({ length: 1_000 }, (_, value) => String(value).padStart(3, "0")).join(""),
)

export class JsonBytes {
  #bytes = Buffer.allocUnsafeSlow(FIRST_ROOM)
  #end = 0

  /** Forgets what was written. */
  clear(): void {
    this.#end = 0
  }

  /** What was written, until it is cleared. */
  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#end)
  }

  /** What is JSON already. */
  raw(piece: Uint8Array): void {
    const { length } = piece
    this.#reserve(length)
    const at = this.#end
    if (length >= LONG) this.#bytes.set(piece, at)
    else for (let i = 0; i < length; i++) this.#bytes[at + i] = piece[i] as number
    this.#end = at + length
  }

  /** The same, as text. */
  text(json: string): void {
    // A character takes three bytes at most, and those that take four are two.
    this.#reserve(json.length * 3)
    this.#end += this.#bytes.write(json, this.#end)
  }

  /** What stands between quotes. */
  inQuotes(text: string): void {
    const { length } = text
    this.#reserve(length)
    const bytes = this.#bytes
    const at = this.#end
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code < 0x20 || code === 0x22 || code === 0x5c || code > 0x7e) {
        this.text(inQuotes(text))
        return
      }
      bytes[at + i] = code
    }
    this.#end = at + length
  }

  integer(value: number): void {
    if (!(value >= 0 && value <= MOST_INTEGER && Number.isInteger(value))) {
      this.text(String(value))
      return
    }
    this.#reserve(LONGEST_NUMBER)
    this.#digits(value)
  }

  /** As `millis` writes it. */
  millis(ms: number): void {
    const micros = Math.round(ms * 1_000)
    const seconds = Math.floor(micros / 1_000_000)
    if (!(ms >= 0 && ms < MOST_EXACT_MS && seconds <= MOST_INTEGER)) {
      this.text(String(ms))
      return
    }
    this.#reserve(LONGEST_NUMBER)
    const rest = micros - seconds * 1_000_000
    const thousandth = Math.floor(rest / 1_000)
    if (seconds === 0) this.#digits(thousandth)
    else {
      this.#digits(seconds)
      this.#threeDigits(thousandth)
    }
    const decimals = rest - thousandth * 1_000
    if (decimals === 0) return
    this.#bytes[this.#end++] = DECIMAL_POINT
    this.#threeDigits(decimals)
  }

  /** The digits of a number, three at a time. */
  #digits(value: number): void {
    if (value >= 1_000) {
      const thousands = (value / 1_000) | 0
      this.#digits(thousands)
      this.#threeDigits(value - thousands * 1_000)
      return
    }
    if (value >= 100) {
      this.#threeDigits(value)
      return
    }
    const bytes = this.#bytes
    const at = value * 3
    if (value >= 10) bytes[this.#end++] = THREE_DIGITS[at + 1] as number
    bytes[this.#end++] = THREE_DIGITS[at + 2] as number
  }

  #threeDigits(value: number): void {
    const bytes = this.#bytes
    const end = this.#end
    const at = value * 3
    bytes[end] = THREE_DIGITS[at] as number
    bytes[end + 1] = THREE_DIGITS[at + 1] as number
    bytes[end + 2] = THREE_DIGITS[at + 2] as number
    this.#end = end + 3
  }

  #reserve(length: number): void {
    if (this.#end + length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#end + length))
    larger.set(this.written())
    this.#bytes = larger
  }
}
