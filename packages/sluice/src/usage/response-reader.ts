// Looks on while the body of a response passes, and keeps the last value of each field by which requests are charged.
//
// Server-sent events are read here and not by eventsource-parser: that one keeps each event as a text, and an event may be as
// long as its sender likes.

import { answerTree, type FieldValues } from "./fields.js"
import { JsonScanner } from "./json-scanner.js"

/** What the body of a response has said of its cost. */
export interface ResponseUsage {
  /** The last value of each field that has occurred. Streams report some fields first and others last. */
  readonly values: FieldValues
  /** Whether the whole body was read. If not, later values may be missing. */
  readonly isComplete: boolean
}

/** Reads one response. It never throws, and never needs the bytes after `write` has returned. */
export interface ResponseReader {
  write(bytes: Uint8Array): void
  /** `isComplete` is whether the response has ended as its sender meant. */
  end(isComplete: boolean): ResponseUsage
}

/** Bytes of one body that are looked at: 100,000 tokens as events of 300 bytes are half of it. */
const MAX_BYTES = 64 * 1024 * 1024

/** Undefined for a type that is neither JSON nor a stream of it. */
export function responseReader(
  fields: Iterable<string>,
  contentType: string | null | undefined,
): ResponseReader | undefined {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  const framing = framingOf(type)
  return framing === undefined ? undefined : new BodyReader(fields, framing)
}

type Framing = "document" | "lines" | "events"

function framingOf(type: string): Framing | undefined {
  if (type === "text/event-stream") return "events"
  if (/^application\/(x-)?(ndjson|jsonl|jsonlines|json-lines|json-seq)$/.test(type)) return "lines"
  return type === "application/json" || type.endsWith("+json") ? "document" : undefined
}

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const LINE_END = /* @__PURE__ */ Uint8Array.of(LF)
/** `data:` */
const DATA = [0x64, 0x61, 0x74, 0x61, 0x3a]
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

// Where in a line of an event stream the reader is: in `data:` (0 to 4), after its colon, in the data, or in another field.
const AFTER_COLON = 5
const IN_DATA = 6
const IN_OTHER = 7

class BodyReader implements ResponseReader {
  readonly #framing: Framing
  readonly #scanner: JsonScanner
  readonly #values = new Map<string, number>()
  /** Values of an object that has not ended yet. */
  readonly #pending = new Map<string, number>()
  #bytes = 0
  #markAt = 0
  #line = 0
  #isLineEmpty = true
  #wasCr = false
  #hasGivenUp = false

  constructor(fields: Iterable<string>, framing: Framing) {
    this.#framing = framing
    const pending = this.#pending
    this.#scanner = new JsonScanner(answerTree(fields), {
      found: (field, value) => {
        if (typeof value === "number") pending.set(field, value)
      },
      // An object that is cut counts for nothing.
      ended: () => {
        for (const [field, value] of pending) this.#values.set(field, value)
        pending.clear()
      },
    })
  }

  write(bytes: Uint8Array): void {
    if (this.#hasGivenUp) return
    const to = Math.min(bytes.length, MAX_BYTES - this.#bytes)
    this.#hasGivenUp = to < bytes.length
    this.#bytes += to
    const from = this.#skipMark(bytes, to)
    if (this.#framing === "events") this.#writeEvents(bytes, from, to)
    else if (this.#framing === "lines") this.#writeLines(bytes, from, to)
    else this.#scanner.write(bytes, from, to)
  }

  end(isComplete: boolean): ResponseUsage {
    const isRead = this.#framing !== "document" || this.#scanner.isWhole
    return { values: this.#values, isComplete: isComplete && isRead && !this.#hasGivenUp }
  }

  /** Returns where the text begins. */
  #skipMark(bytes: Uint8Array, to: number): number {
    let from = 0
    while (from < to && this.#markAt < 3) {
      this.#markAt = bytes[from] === BYTE_ORDER_MARK[this.#markAt] ? this.#markAt + 1 : 4
      if (this.#markAt === 4) break
      from++
    }
    return from
  }

  /** A line or an event that is not valid JSON does not spoil the next one. */
  #next(): void {
    this.#pending.clear()
    this.#scanner.reset()
  }

  #writeLines(bytes: Uint8Array, from: number, to: number): void {
    let start = from
    for (;;) {
      const end = bytes.indexOf(LF, start)
      if (end === -1 || end >= to) break
      this.#scanner.write(bytes, start, end)
      this.#next()
      start = end + 1
    }
    this.#scanner.write(bytes, start, to)
  }

  #writeEvents(bytes: Uint8Array, from: number, to: number): void {
    let i = from
    while (i < to) {
      const byte = bytes[i] as number
      if (byte === LF || byte === CR) {
        if (byte === CR || !this.#wasCr) this.#lineEnded()
        this.#wasCr = byte === CR
        i++
        continue
      }
      this.#wasCr = false
      this.#isLineEmpty = false
      if (this.#line === AFTER_COLON) {
        this.#line = IN_DATA
        if (byte === SPACE) i++
      } else if (this.#line < AFTER_COLON) {
        this.#line = byte === DATA[this.#line] ? this.#line + 1 : IN_OTHER
        i++
      } else {
        const end = lineEnd(bytes, i, to)
        if (this.#line === IN_DATA) this.#scanner.write(bytes, i, end)
        i = end
      }
    }
  }

  #lineEnded(): void {
    // Several lines of data are one text with line ends between them.
    if (this.#line === IN_DATA) this.#scanner.write(LINE_END)
    if (this.#isLineEmpty) this.#next()
    this.#line = 0
    this.#isLineEmpty = true
  }
}

function lineEnd(bytes: Uint8Array, from: number, to: number): number {
  let i = from
  while (i < to && bytes[i] !== LF && bytes[i] !== CR) i++
  return i
}
