// Replies as bytes, in RESP2 or RESP3, one behind the other in a single buffer: a turn of a connection is one write.

import { viewOf } from "./byte-view.js"

const FIRST_BYTES = 16_384
/** A buffer that one large reply has made larger than this is not kept. */
const MOST_KEPT = 65_536

const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a
const MINUS = 0x2d
const ZERO = 0x30
const BILLION = 1_000_000_000
/** Numbers below are written as soon as looked up. */
const SHORT = 10_000
/** The sign and digits of any number, with what goes around it. */
const NUMBER_BYTES = 24

/** Four bytes at once, the first one lowest. */
const ARRAY_OF_FIVE = Buffer.from("*5\r\n").readInt32LE()
const ALLOWED = Buffer.from(":0\r\n").readInt32LE()
const DENIED = Buffer.from(":1\r\n").readInt32LE()
const MINUS_ONE = Buffer.from(":-1\r").readInt32LE()

export class ReplyWriter {
  /** 2 or 3, as the client that is being answered has asked for. */
  protocol: 2 | 3 = 2
  /** Bytes written and not yet taken. */
  length = 0
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #view = viewOf(this.#bytes)
  /** The limit of the last decision, and as it was written. */
  #limit = Number.NaN
  #limitLength = 0
  readonly #limitBytes = new DataView(new ArrayBuffer(NUMBER_BYTES))

  /** What was written from `start` on, valid until something else is written. */
  written(start = 0): Buffer {
    return this.#bytes.subarray(start, this.length)
  }

  /** Starts anew. With `kept` somebody still reads the bytes: they are left to them. */
  clear(kept: boolean): void {
    this.length = 0
    if (kept || this.#bytes.length > MOST_KEPT) this.#use(Buffer.allocUnsafeSlow(FIRST_BYTES))
  }

  simple(text: string): void {
    this.#line(`+${text}`)
  }

  /** `text` begins with a code in capitals, as Redis has it. */
  error(text: string): void {
    // What came from the client must not end the line, and with it the reply.
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

  /** Text for people: RESP3 says what kind. */
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

  /** The head of an array; its items follow. */
  array(items: number): void {
    this.#line(`*${items}`)
  }

  /** The head of a map; keys and values follow. RESP2 knows only arrays. */
  map(entries: number): void {
    this.#line(this.protocol === 2 ? `*${entries * 2}` : `%${entries}`)
  }

  /** The head of a set; its items follow. RESP2 knows only arrays. */
  set(items: number): void {
    this.#line(this.protocol === 2 ? `*${items}` : `~${items}`)
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** The five integers of a decision. Seconds; a wait of -1 is none, or one without end. */
  decision(allowed: boolean, limit: number, remaining: number, retry: number, reset: number): void {
    this.#room(NUMBER_BYTES * 6)
    const view = this.#view
    let at = this.length
    view.setInt32(at, ARRAY_OF_FIVE, true)
    view.setInt32(at + 4, allowed ? ALLOWED : DENIED, true)
    this.length = at + 8
    if (limit < SHORT) this.#integer(limit)
    else this.#sameLimit(limit)
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

  /** Most decisions are on the limit of the one before: its digits are known. */
  #sameLimit(limit: number): void {
    const start = this.length
    if (limit !== this.#limit) {
      this.#integer(limit)
      this.#limit = limit
      this.#limitLength = this.length - start
      for (let i = 0; i < this.#limitLength; i++)
        this.#limitBytes.setUint8(i, this.#bytes[start + i] as number)
      return
    }
    for (let i = 0; i < this.#limitLength; i += 4)
      this.#view.setInt32(start + i, this.#limitBytes.getInt32(i, true), true)
    this.length = start + this.#limitLength
  }

  /** Where there is room for it. */
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
    this.#view = viewOf(bytes)
  }
}

/** Any whole number within 2^53. Returns where it ends. */
function writeDigits(bytes: Buffer, at: number, value: number): number {
  if (value < 0) {
    bytes[at] = MINUS
    return writeDigits(bytes, at + 1, -value)
  }
  if (value < BILLION) return writeSmall(bytes, at, value | 0, digitsOf(value))
  const billions = Math.floor(value / BILLION)
  return writeSmall(bytes, writeDigits(bytes, at, billions), (value - billions * BILLION) | 0, 9)
}

/** So many digits of a number below a billion: on 32 bits a division by ten is a multiplication. */
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
