// Writes replies in RESP2 or RESP3 into one buffer, so that a connection sends all replies of a read with one write.

const FIRST_BYTES = 16_384
/** A larger buffer, grown for one large reply, is not kept. */
const MAX_KEPT = 65_536

const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a
const MINUS = 0x2d
const ZERO = 0x30
const BILLION = 1_000_000_000
/** Enough for `:`, the sign and digits of any number, and CRLF. */
const NUMBER_BYTES = 24

/** Four bytes as one little-endian integer, to write them at once. */
const ARRAY_OF_FIVE = Buffer.from("*5\r\n").readInt32LE()
const ALLOWED = Buffer.from(":0\r\n").readInt32LE()
const DENIED = Buffer.from(":1\r\n").readInt32LE()
const MINUS_ONE = Buffer.from(":-1\r").readInt32LE()

export class ReplyWriter {
  /** The protocol version of the client that is being answered. */
  protocol: 2 | 3 = 2
  /** Bytes written and not yet sent. */
  length = 0
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #view = new DataView(this.#bytes.buffer)

  /** The bytes written from `start` on, valid until the next write. */
  written(start = 0): Buffer {
    return this.#bytes.subarray(start, this.length)
  }

  /** Empties the buffer. With `kept`, the socket still reads the bytes, so a new buffer takes its place. */
  clear(kept: boolean): void {
    this.length = 0
    if (kept || this.#bytes.length > MAX_KEPT) this.#use(Buffer.allocUnsafeSlow(FIRST_BYTES))
  }

  simple(text: string): void {
    this.#line(`+${text}`)
  }

  /** `text` begins with a code in capitals, as in Redis. */
  error(text: string): void {
    // A line end in text from the client would end the reply.
    this.#line(`-${text.replace(/[\r\n]/g, " ")}`)
  }

  integer(value: number): void {
    this.#room(NUMBER_BYTES)
    this.#integer(value)
  }

  bulk(value: string | Uint8Array): void {
    const bytes = typeof value === "string" ? Buffer.from(value) : value
    this.#line(`$${bytes.length}`)
    this.raw(bytes)
    this.#line("")
  }

  /** Text for people; RESP3 has a type for it. */
  verbatim(text: string): void {
    if (this.protocol === 2) {
      this.bulk(text)
      return
    }
    const bytes = Buffer.from(text)
    this.#line(`=${bytes.length + 4}`)
    this.raw(Buffer.from("txt:"))
    this.raw(bytes)
    this.#line("")
  }

  nothing(): void {
    this.#line(this.protocol === 2 ? "$-1" : "_")
  }

  /** Begins an array; the caller writes its items next. */
  array(items: number): void {
    this.#line(`*${items}`)
  }

  /** Begins a map; the caller writes keys and values next. RESP2 has only arrays. */
  map(entries: number): void {
    this.#line(this.protocol === 2 ? `*${entries * 2}` : `%${entries}`)
  }

  /** Begins a set; the caller writes its items next. RESP2 has only arrays. */
  set(items: number): void {
    this.#line(this.protocol === 2 ? `*${items}` : `~${items}`)
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** Writes the five integers of a decision. `retry` and `reset` are seconds; a `retry` of -1 means no wait, or an endless one. */
  decision(allowed: boolean, limit: number, remaining: number, retry: number, reset: number): void {
    this.#room(NUMBER_BYTES * 6)
    const view = this.#view
    let at = this.length
    view.setInt32(at, ARRAY_OF_FIVE, true)
    view.setInt32(at + 4, allowed ? ALLOWED : DENIED, true)
    this.length = at + 8
    this.#integer(limit)
    this.#integer(remaining)
    if (retry === -1) {
      at = this.length
      view.setInt32(at, MINUS_ONE, true)
      this.#bytes[at + 4] = LF
      this.length = at + 5
    } else {
      this.#integer(retry)
    }
    this.#integer(reset)
  }

  /** The caller has made room for it. */
  #integer(value: number): void {
    const bytes = this.#bytes
    let at = this.length
    bytes[at++] = COLON
    if (value >= 0 && value < 10) {
      bytes[at++] = ZERO + value
    } else if (value >= 0 && value < 100) {
      const tens = (value / 10) | 0
      bytes[at++] = ZERO + tens
      bytes[at++] = ZERO + value - tens * 10
    } else {
      at = writeDigits(bytes, at, value)
    }
    bytes[at++] = CR
    bytes[at++] = LF
    this.length = at
  }

  #line(text: string): void {
    // A character takes at most three bytes.
    this.#room(text.length * 3 + 2)
    this.length += this.#bytes.write(text, this.length)
    this.#bytes[this.length++] = CR
    this.#bytes[this.length++] = LF
  }

  #room(bytes: number): void {
    const needed = this.length + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.length)
    this.#use(larger)
  }

  #use(bytes: Buffer): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer)
  }
}

/** Writes any integer within 2^53. Returns the index after it. */
function writeDigits(bytes: Buffer, at: number, value: number): number {
  if (value < 0) {
    bytes[at] = MINUS
    return writeDigits(bytes, at + 1, -value)
  }
  if (value < BILLION) return writeSmall(bytes, at, value | 0, digitsOf(value))
  const billions = Math.floor(value / BILLION)
  return writeSmall(bytes, writeDigits(bytes, at, billions), (value - billions * BILLION) | 0, 9)
}

/** Writes a number below a billion with this many digits. Its integers have 32 bits, which V8 divides faster. */
function writeSmall(bytes: Buffer, at: number, value: number, digits: number): number {
  let left = value
  for (let i = at + digits - 1; i >= at; i--) {
    const rest = (left / 10) | 0
    bytes[i] = ZERO + left - rest * 10
    left = rest
  }
  return at + digits
}

function digitsOf(value: number): number {
  let digits = 1
  for (let bound = 10; bound <= value && digits < 9; bound *= 10) digits++
  return digits
}
