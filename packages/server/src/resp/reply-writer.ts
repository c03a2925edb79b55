// Writes replies in RESP2 or RESP3 into one buffer, so that a connection sends all replies of a read with one write.

import { ByteWriter } from "../byte-writer.js"

const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a
const MINUS = 0x2d
const ZERO = 0x30
const MAX_INT32 = 2 ** 31 - 1
/** Enough for `:`, the sign and digits of any number, and CRLF. */
const NUMBER_BYTES = 24

/** An array of five, and its first integer. */
const ALLOWED = Buffer.from("*5\r\n:0\r\n")
const DENIED = Buffer.from("*5\r\n:1\r\n")

export class ReplyWriter extends ByteWriter {
  /** The protocol version of the client that is being answered. */
  protocol: 2 | 3 = 2

  simple(text: string): void {
    this.#line(`+${text}`)
  }

  /** `text` begins with a code in capitals, as in Redis. */
  error(text: string): void {
    // A line end in text from the client would end the reply.
    this.#line(`-${text.replace(/[\r\n]/g, " ")}`)
  }

  integer(value: number): void {
    this.room(NUMBER_BYTES)
    this.length = writeInteger(this.buffer, this.length, value)
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
    this.room(bytes.length)
    this.buffer.set(bytes, this.length)
    this.length += bytes.length
  }

  /** Writes the five integers of a decision. `retry` and `reset` are seconds; a `retry` of -1 means no wait, or an endless one. */
  decision(allowed: boolean, limit: number, remaining: number, retry: number, reset: number): void {
    this.room(NUMBER_BYTES * 6)
    const bytes = this.buffer
    const start = allowed ? ALLOWED : DENIED
    let at = this.length
    for (let i = 0; i < start.length; i++) bytes[at++] = start[i] as number
    at = writeInteger(bytes, at, limit)
    at = writeInteger(bytes, at, remaining)
    at = writeInteger(bytes, at, retry)
    this.length = writeInteger(bytes, at, reset)
  }

  #line(text: string): void {
    // A character takes at most three bytes.
    this.room(text.length * 3 + 2)
    this.length += this.buffer.write(text, this.length)
    this.buffer[this.length++] = CR
    this.buffer[this.length++] = LF
  }
}

/** Writes an integer at `at`. Returns the index after it. */
function writeInteger(bytes: Buffer, at: number, value: number): number {
  let next = at
  bytes[next++] = COLON
  if (value < 0) bytes[next++] = MINUS
  const size = Math.abs(value)
  // V8 divides integers of 32 bits faster than it makes a string.
  if (size <= MAX_INT32) next = writeDigits(bytes, next, size | 0)
  else next += bytes.write(String(size), next, "latin1")
  bytes[next++] = CR
  bytes[next++] = LF
  return next
}

function writeDigits(bytes: Buffer, at: number, value: number): number {
  let end = at + 1
  for (let bound = 10; bound <= value; bound *= 10) end++
  let left = value
  for (let i = end - 1; i >= at; i--) {
    const rest = (left / 10) | 0
    bytes[i] = ZERO + left - rest * 10
    left = rest
  }
  return end
}
