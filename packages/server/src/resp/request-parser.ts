// Parses commands from the bytes of a socket. It records where each argument starts and ends and creates no strings: a string
// per argument would cost more than the decision.

import { splitInline } from "./inline-command.js"

/** What a client may send. */
export interface RequestLimits {
  /** The maximum number of arguments of a command, including its name. */
  readonly arguments: number
  /** The maximum size of a command in bytes, and so of what is kept of an incomplete one. */
  readonly bytes: number
}

/** The command is incomplete. */
export const INCOMPLETE = -1
/** The bytes are not a command; `mistake` says why. Where the next command starts is unknown. */
export const BROKEN = -2

const ASTERISK = 0x2a
const DOLLAR = 0x24
const MINUS = 0x2d
const PLUS = 0x2b
const CR = 0x0d
const LF = 0x0a
const ZERO = 0x30
const NINE = 0x39
/** More digits than any length within the limits has. */
const MAX_DIGITS = 10

export class RequestParser {
  /** The number of arguments; 0 for an empty line. */
  count = 0
  /** The bytes that contain the arguments: those given, or a copy for an inline command. */
  bytes: Buffer
  readonly starts: Int32Array
  readonly ends: Int32Array
  mistake = ""
  readonly #limits: RequestLimits
  /** Index after the length that was read last. */
  #next = 0

  constructor(limits: RequestLimits) {
    this.#limits = limits
    this.bytes = Buffer.alloc(0)
    this.starts = new Int32Array(limits.arguments)
    this.ends = new Int32Array(limits.arguments)
  }

  /** Parses the command at `at`. Returns the index of the next command, `INCOMPLETE` or `BROKEN`. */
  parse(bytes: Buffer, at: number, limits: RequestLimits = this.#limits): number {
    this.count = 0
    if (bytes[at] !== ASTERISK) return this.#parseInline(bytes, at, limits)
    const count = this.#length(bytes, at + 1)
    if (count === INCOMPLETE) return INCOMPLETE
    if (!(count <= limits.arguments)) return this.#broken("invalid multibulk length")
    const { starts, ends } = this
    let next = this.#next
    for (let i = 0; i < count; i++) {
      if (next >= bytes.length) return this.#unfinished(bytes, at, limits)
      if (bytes[next] !== DOLLAR) return this.#broken(`expected '$', got '${shown(bytes[next] as number)}'`)
      const length = this.#length(bytes, next + 1)
      if (length === INCOMPLETE) return this.#unfinished(bytes, at, limits)
      const start = this.#next
      if (!(length >= 0 && start - at + length <= limits.bytes)) return this.#broken("invalid bulk length")
      const end = start + length
      if (end + 2 > bytes.length) return INCOMPLETE
      // Redis does not check these two bytes. A client that miscounts gets an error here instead of a wrong reading.
      if (bytes[end] !== CR || bytes[end + 1] !== LF) return this.#broken("expected CRLF after an argument")
      starts[i] = start
      ends[i] = end
      next = end + 2
    }
    this.bytes = bytes
    this.count = count > 0 ? count : 0
    return next
  }

  /** The bytes of an argument, valid until the next command is parsed. */
  raw(index: number): Buffer {
    return this.bytes.subarray(this.starts[index], this.ends[index])
  }

  text(index: number): string {
    return this.bytes.toString("utf8", this.starts[index], this.ends[index])
  }

  /** An argument as a decimal integer, or NaN. Beyond 2^53 it is rounded. */
  integer(index: number): number {
    const { bytes } = this
    const end = this.ends[index] as number
    let at = this.starts[index] as number
    const sign = bytes[at]
    if (sign === MINUS || sign === PLUS) at++
    if (at >= end) return Number.NaN
    let value = 0
    for (; at < end; at++) {
      const byte = bytes[at] as number
      if (byte < ZERO || byte > NINE) return Number.NaN
      value = value * 10 + (byte - ZERO)
    }
    return sign === MINUS ? -value : value
  }

  /** Parses the length at `at`, which ends with CRLF; NaN if it is invalid. Sets `#next` to its end. */
  #length(bytes: Buffer, at: number): number {
    const isNegative = bytes[at] === MINUS
    let value = 0
    for (let i = isNegative ? at + 1 : at; ; i++) {
      if (i >= bytes.length) return INCOMPLETE
      const byte = bytes[i] as number
      if (byte >= ZERO && byte <= NINE) {
        value = value * 10 + (byte - ZERO)
        if (i - at > MAX_DIGITS) return Number.NaN
        continue
      }
      if (byte !== CR) return Number.NaN
      if (i + 1 >= bytes.length) return INCOMPLETE
      if (bytes[i + 1] !== LF || i === (isNegative ? at + 1 : at)) return Number.NaN
      this.#next = i + 2
      // Any negative length, but not -1, which means INCOMPLETE.
      return isNegative ? (value === 0 ? 0 : -2) : value
    }
  }

  #parseInline(bytes: Buffer, at: number, limits: RequestLimits): number {
    const end = bytes.indexOf(LF, at)
    if (end < 0) return bytes.length - at > limits.bytes ? this.#broken("too big inline request") : INCOMPLETE
    if (end - at > limits.bytes) return this.#broken("too big inline request")
    const words = splitInline(bytes.toString("latin1", at, end))
    if (words === undefined) return this.#broken("unbalanced quotes in request")
    if (words.length > limits.arguments) return this.#broken("too many words in request")
    this.bytes = Buffer.from(words.join(""), "latin1")
    let start = 0
    words.forEach((word, i) => {
      this.starts[i] = start
      start += word.length
      this.ends[i] = start
    })
    this.count = words.length
    return end + 1
  }

  #unfinished(bytes: Buffer, at: number, limits: RequestLimits): number {
    return bytes.length - at > limits.bytes ? this.#broken("too big request") : INCOMPLETE
  }

  #broken(mistake: string): number {
    this.mistake = `Protocol error: ${mistake}`
    return BROKEN
  }
}

function shown(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : " "
}
