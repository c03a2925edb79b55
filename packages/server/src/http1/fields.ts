// Heads and header lines of HTTP/1.1, of requests, answers and trailers alike.

/** A message that is not valid HTTP/1.1. The message says why; it is for logs and tests and never goes to the other side. */
export class InvalidMessage extends Error {
  override readonly name = "InvalidMessage"
  /** The status that refuses it, where it is a request. */
  readonly status: number

  constructor(message: string, status = 400) {
    super(message)
    this.status = status
  }
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const COLON = 0x3a
const DELETE = 0x7f
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
/** 15 digits are below 2^53. */
const MAX_LENGTH_DIGITS = 15

/** 1 for each byte that may stand in a header name (RFC 9110, token), 0 for all others. */
const tokenBytes = new Uint8Array(256)
for (const char of "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  tokenBytes[char.charCodeAt(0)] = 1

/**
 * Reads header lines from `start` to the end of the text, which has one character per byte and ends with the line end of the
 * last line. Returns name, value, name, value. Throws InvalidMessage for whatever two readers could read in two ways: a blank
 * before the colon, a folded line, a bare CR or LF, a control character.
 */
export function readFields(text: string, start: number): string[] {
  const fields: string[] = []
  let at = start
  while (at < text.length) {
    const nameStart = at
    while (tokenBytes[text.charCodeAt(at)] === 1) at++
    if (at === nameStart || text.charCodeAt(at) !== COLON)
      throw new InvalidMessage("has a malformed header name")
    const name = text.slice(nameStart, at)
    at++
    while (isBlank(text.charCodeAt(at))) at++
    const valueStart = at
    let code = text.charCodeAt(at)
    while (isValueByte(code)) code = text.charCodeAt(++at)
    if (code !== CR || text.charCodeAt(at + 1) !== LF)
      throw new InvalidMessage(`has a control character in its header ${name}`)
    let valueEnd = at
    while (valueEnd > valueStart && isBlank(text.charCodeAt(valueEnd - 1))) valueEnd--
    fields.push(name, text.slice(valueStart, valueEnd))
    at += 2
  }
  return fields
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}

/** Whether a byte may stand in the value of a header or in the reason of a status line. */
export function isValueByte(code: number): boolean {
  return (code >= SPACE && code !== DELETE) || code === TAB
}

/** Reads the value of Content-Length. Throws InvalidMessage unless it is 1 to 15 digits. */
export function readLength(value: string): number {
  if (value === "" || value.length > MAX_LENGTH_DIGITS)
    throw new InvalidMessage("has a malformed content length")
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < DIGIT_0 || code > DIGIT_9) throw new InvalidMessage("has a malformed content length")
  }
  return Number(value)
}

/** Whether a comma-separated list in lower case has this word. */
export function hasWord(list: string, word: string): boolean {
  if (list === word) return true
  return list.includes(word) && list.split(",").some((part) => part.trim() === word)
}

/** Writes header lines from name, value, name, value. */
export function fieldLines(fields: readonly string[]): string {
  let lines = ""
  for (let i = 0; i < fields.length; i += 2) lines += `${fields[i]}: ${fields[i + 1]}\r\n`
  return lines
}

const BLANK_LINE = Buffer.from("\r\n\r\n")

/** More than the longest method. */
const START_BYTES = 32

const MIN_ROOM_BYTES = 1_024

/** Collects a head or a trailer from the pieces in which it arrives, up to its blank line. */
export class HeadReader {
  /** The last head: with the line ends of all its lines, without the blank line, one character per byte. */
  text = ""
  readonly #maxBytes: number
  /** Room for a head that arrives in pieces, and how much of it is used. */
  #room: Buffer | undefined
  #length = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether a part of a head has arrived. */
  get hasPart(): boolean {
    return this.#room !== undefined
  }

  /** The first characters of a head of which a part has arrived. */
  get start(): string {
    return this.#room?.toString("latin1", 0, Math.min(START_BYTES, this.#length)) ?? ""
  }

  /**
   * Reads from `at`. Returns the end of the blank line, with the head in `text`; or -1 if the head is not complete, and keeps
   * the part that has arrived. Calls `tooLarge`, which throws, when the head is too long.
   */
  read(bytes: Buffer, at: number, tooLarge: () => never): number {
    if (this.#room === undefined) {
      const found = bytes.indexOf(BLANK_LINE, at)
      if (found >= 0) {
        if (found + BLANK_LINE.length - at > this.#maxBytes) tooLarge()
        this.text = bytes.toString("latin1", at, found + 2)
        return found + BLANK_LINE.length
      }
    }
    const before = this.#length
    const held = this.#hold(bytes, at)
    const found = held.indexOf(BLANK_LINE, Math.max(0, before - BLANK_LINE.length + 1))
    if (found < 0) {
      if (held.length >= this.#maxBytes) tooLarge()
      checkLineEnds(held, before)
      return -1
    }
    this.text = held.toString("latin1", 0, found + 2)
    this.reset()
    return at + found + BLANK_LINE.length - before
  }

  /** Starts a head with these bytes, as if they had arrived. */
  startWith(bytes: Buffer): void {
    this.#hold(bytes, 0)
  }

  reset(): void {
    this.#room = undefined
    this.#length = 0
  }

  /**
   * Adds bytes up to the largest head. The buffer grows by doubling, so that a head that arrives byte by byte is rarely copied.
   */
  #hold(bytes: Buffer, at: number): Buffer {
    const length = Math.min(this.#length + bytes.length - at, this.#maxBytes)
    let room = this.#room
    if (room === undefined || room.length < length) {
      const larger = Buffer.allocUnsafe(
        Math.max(length, Math.min(2 * (room?.length ?? 0), this.#maxBytes), MIN_ROOM_BYTES),
      )
      room?.copy(larger, 0, 0, this.#length)
      room = larger
      this.#room = room
    }
    bytes.copy(room, this.#length, at, at + length - this.#length)
    this.#length = length
    return room.subarray(0, length)
  }
}

/** Throws if a line ends with LF alone: the blank line of such a head would never be found. */
function checkLineEnds(bytes: Buffer, from: number): void {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1))
    if (bytes[at - 1] !== CR) throw new InvalidMessage("has a line that ends with LF alone")
}
