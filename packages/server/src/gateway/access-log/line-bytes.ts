// Lines that are put together as bytes, piece by piece. As texts they would be made of dozens of small strings each, which are
// kept until they are written, and read once more then.

/** So long a line may be; whoever puts one together sees to it. */
export const LONGEST_LINE = 65_536

const SPACE = 0x20
const QUOTE = 0x22
const POINT = 0x2e
const ZERO = 0x30
const BACKSLASH = 0x5c
const TILDE = 0x7e
/** Up to here whole numbers are counted out in the fastest way. */
const SMALL = 2 ** 31

export class LineBytes {
  readonly #bytes: Buffer
  #length = 0

  /** Begins another line as long as fewer than `size` are in it. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafeSlow(size + LONGEST_LINE)
  }

  get length(): number {
    return this.#length
  }

  /** Valid until it is cut. */
  taken(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Leaves so many. */
  cut(length: number): void {
    this.#length = length
  }

  /** What was made bytes beforehand, because it comes again and again. */
  piece(piece: Uint8Array): void {
    const bytes = this.#bytes
    const start = this.#length
    for (let i = 0; i < piece.length; i++) bytes[start + i] = piece[i] as number
    this.#length = start + piece.length
  }

  text(text: string): void {
    this.#length += this.#bytes.write(text, this.#length)
  }

  /** A text as it stands between the quotes of JSON. */
  quoted(text: string): void {
    const bytes = this.#bytes
    const start = this.#length
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code < SPACE || code > TILDE || code === QUOTE || code === BACKSLASH) {
        this.text(JSON.stringify(text).slice(1, -1))
        return
      }
      bytes[start + i] = code
    }
    this.#length = start + text.length
  }

  /** A whole number that is not negative. */
  whole(number: number): void {
    if (number >= SMALL) {
      this.text(String(number))
      return
    }
    const bytes = this.#bytes
    let end = this.#length + 1
    for (let power = 10; power <= number; power *= 10) end++
    this.#length = end
    let rest = number | 0
    do {
      const tenth = (rest / 10) | 0
      bytes[--end] = ZERO + rest - tenth * 10
      rest = tenth
    } while (rest > 0)
  }

  /** Three digits of a number below 1,000. */
  thousandths(number: number): void {
    const bytes = this.#bytes
    const at = this.#length
    const tens = (number / 10) | 0
    const hundreds = (number / 100) | 0
    bytes[at] = ZERO + hundreds
    bytes[at + 1] = ZERO + tens - hundreds * 10
    bytes[at + 2] = ZERO + number - tens * 10
    this.#length = at + 3
  }

  /** Milliseconds to the microsecond. By hand: finding the shortest text of a fraction takes longer than all the rest of a line. */
  micros(ms: number): void {
    const whole = Math.round(ms * 1_000)
    const thousandths = whole % 1_000
    this.whole((whole - thousandths) / 1_000)
    if (thousandths === 0) return
    this.#bytes[this.#length++] = POINT
    this.thousandths(thousandths)
    while (this.#bytes[this.#length - 1] === ZERO) this.#length--
  }
}
