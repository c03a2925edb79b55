// CL.THROTTLE as nearly all of them come: one that was there before, with another key. Its bytes are compared, four at a
// time, with those of commands that were read, and its numbers need not be read again.

import { viewOf } from "./byte-view.js"
import type { RequestParser } from "./request-parser.js"
import type { Terms } from "./terms.js"

const DOLLAR = 0x24
const CR = 0x0d
const ZERO = 0x30
const NINE = 0x39
/** CR and LF, as a number of two bytes. */
const CRLF = 0x0a0d
/** `*5 $11 CL.THROTTLE` in bytes, with CRLF behind each. Clients that write it longer are read as everything is. */
const HEAD = 22
/** `$1 k`, the shortest key there is beside none at all, and `$1 1 $1 1 $1 1`, the least that stands behind it. */
const KEY = 7
const SHORTEST_TAIL = 21
/** More than four numbers have. */
const LONGEST_TAIL = 100
const SLOTS = 64
const SLOT_BYTES = 128

export class RepeatedThrottle {
  /** Of the command found last: its limit and its quantity, where its key starts and ends, and where the next one starts. */
  terms: Terms | undefined
  cost = 0
  keyStart = 0
  keyEnd = 0
  next = 0
  /** In each slot what stands before the key of a command, and then what stands behind it. */
  readonly #known = new DataView(new ArrayBuffer(SLOTS * SLOT_BYTES))
  readonly #tails = new Uint8Array(SLOTS)
  readonly #costs = new Float64Array(SLOTS)
  readonly #terms: (Terms | undefined)[] = new Array(SLOTS).fill(undefined)

  /** Whether the command at `at` is all there before `end`, and was there before but for its key. */
  find(bytes: DataView, at: number, end: number): boolean {
    const head = at + HEAD
    if (head + KEY + SHORTEST_TAIL > end || bytes.getUint8(head) !== DOLLAR) return false
    const first = bytes.getUint8(head + 1)
    const second = bytes.getUint8(head + 2)
    if (first < ZERO || first > NINE) return false
    let length = first - ZERO
    let start = head + 4
    if (second !== CR) {
      if (second < ZERO || second > NINE) return false
      length = length * 10 + second - ZERO
      start++
    }
    const keyEnd = start + length
    const tail = keyEnd + 2
    if (tail + SHORTEST_TAIL > end) return false
    if (bytes.getUint16(start - 2, true) !== CRLF || bytes.getUint16(keyEnd, true) !== CRLF) return false
    const slot = slotOf(bytes, tail)
    const tailLength = this.#tails[slot] as number
    const next = tail + tailLength
    const known = slot * SLOT_BYTES
    if (tailLength === 0 || next > end) return false
    if (!isSame(bytes, tail, this.#known, known + HEAD, tailLength)) return false
    if (!isSame(bytes, at, this.#known, known, HEAD)) return false
    this.terms = this.#terms[slot]
    this.cost = this.#costs[slot] as number
    this.keyStart = start
    this.keyEnd = keyEnd
    this.next = next
    return true
  }

  /** Remembers what the command in `request` means. */
  remember({ bytes, start, ends, count }: RequestParser, terms: Terms, cost: number): void {
    const head = (ends[0] as number) + 2 - start
    const tail = (ends[1] as number) + 2
    const tailLength = (ends[count - 1] as number) + 2 - tail
    if (head !== HEAD || tailLength > LONGEST_TAIL) return
    const slot = slotOf(viewOf(bytes), tail)
    const known = slot * SLOT_BYTES
    for (let i = 0; i < HEAD; i++) this.#known.setUint8(known + i, bytes[start + i] as number)
    for (let i = 0; i < tailLength; i++) this.#known.setUint8(known + HEAD + i, bytes[tail + i] as number)
    this.#tails[slot] = tailLength
    this.#terms[slot] = terms
    this.#costs[slot] = cost
  }
}

/** From the first numbers of a tail: at least that much there is of each. */
function slotOf(bytes: DataView, tail: number): number {
  let mixed = Math.imul(bytes.getInt32(tail, true), 31) + bytes.getInt32(tail + 4, true)
  mixed = Math.imul(mixed, 31) + bytes.getInt32(tail + 8, true)
  mixed = Math.imul(mixed, 31) + bytes.getInt32(tail + 12, true)
  mixed = Math.imul(mixed, 31) + bytes.getInt32(tail + 16, true)
  return (Math.imul(mixed, 0x9e3779b1) >>> 16) % SLOTS
}

/** `length` is at least four: the last four bytes may be looked at twice. */
function isSame(bytes: DataView, at: number, known: DataView, from: number, length: number): boolean {
  const last = length - 4
  for (let i = 0; i < last; i += 4)
    if (bytes.getInt32(at + i, true) !== known.getInt32(from + i, true)) return false
  return bytes.getInt32(at + last, true) === known.getInt32(from + last, true)
}
