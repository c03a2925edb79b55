// What a connection sends: the room that its client has for it, and the streams that wait for more.

import { ConnectionBytes, type HeldBytes } from "../held-bytes.js"
import { ConnectionError, type ErrorCode } from "./error-code.js"
import { FIRST_WINDOW, LARGEST_WINDOW } from "./frame.js"
import type { FrameWriter } from "./frame-writer.js"
import { TABLE_BYTES } from "./hpack-table.js"
import type { Stream } from "./stream.js"

/** What a connection may make us keep: of answers that it does not take, and of requests that it does not end. */
const MOST_UNSENT = 8_388_608
const MOST_HELD = 8_388_608
/** Bytes that streams which wait send in one turn. */
const MOST_AT_ONCE = 131_072
/** Says that no table is used: a byte in front of a header block. */
const WITHOUT_TABLE = 0x20

/** What becomes of streams is for the session to say. */
export interface Streams {
  /** Both sides have said all. */
  over(stream: Stream): void
  reset(stream: Stream, code: ErrorCode): void
  /** There is something to send, and nobody writes just now. */
  wantsTurn(): void
  /** More waits for the client than it may leave waiting. */
  overflow(): void
}

export class Outgoing {
  /** Whether what is sent goes into the writer now: only one connection at a time may use it. */
  isInTurn = false
  /** What the client has room for. */
  window = FIRST_WINDOW
  /** The same for each new stream. */
  firstWindow = FIRST_WINDOW
  readonly #writer: FrameWriter
  readonly #streams: Streams
  readonly #waiting = new Set<Stream>()
  readonly #bytes: ConnectionBytes
  #unsent = 0
  #held = 0
  #carried = 0
  #prefix: number | undefined = undefined
  #usesTable = true

  constructor(writer: FrameWriter, streams: Streams, heldBytes: HeldBytes) {
    this.#writer = writer
    this.#streams = streams
    this.#bytes = new ConnectionBytes(heldBytes)
  }

  headers(stream: number, block: Buffer, isLast: boolean): void {
    this.#writer.headers(stream, block, isLast, this.#prefix)
    this.#prefix = undefined
  }

  data(stream: number, bytes: Buffer, start: number, end: number): void {
    this.window -= end - start
    this.#writer.data(stream, bytes, start, end)
  }

  reset(stream: Stream, code: ErrorCode): void {
    this.#streams.reset(stream, code)
  }

  over(stream: Stream): void {
    this.#streams.over(stream)
  }

  wait(stream: Stream): void {
    this.#waiting.add(stream)
    if (!this.isInTurn) this.#streams.wantsTurn()
  }

  forget(stream: Stream): void {
    this.#waiting.delete(stream)
    this.#unsent -= stream.unsentBytes
    this.#held -= stream.heldBytes
    stream.unsentBytes = 0
    stream.heldBytes = 0
    this.#count()
  }

  unsent(bytes: number): void {
    this.#unsent += bytes
    if (!this.#count() || this.#unsent > MOST_UNSENT) this.#streams.overflow()
  }

  /** So many bytes more of requests are kept. False if neither this connection nor all together may make us keep so many. */
  hold(bytes: number): boolean {
    this.#held += bytes
    return this.#count() && this.#held <= MOST_HELD
  }

  /** The connection itself keeps so many: of frames that are not whole, and that the client does not take. False as above. */
  carry(bytes: number): boolean {
    this.#carried = bytes
    return this.#count()
  }

  /**
   * Lets the streams that wait send, once in a turn: a client may make room a byte at a time. False if there is more to send
   * than a turn should.
   */
  pump(): boolean {
    for (const stream of this.#waiting) {
      if (this.#writer.length >= MOST_AT_ONCE) return false
      if (stream.pump()) this.#waiting.delete(stream)
    }
    return true
  }

  /** The client has more room. */
  widen(increment: number): void {
    this.window += increment
    if (this.window > LARGEST_WINDOW)
      throw new ConnectionError("FLOW_CONTROL_ERROR", "the window of the connection is too large")
  }

  #count(): boolean {
    return this.#bytes.set(this.#unsent + this.#held + this.#carried)
  }

  /**
   * The client has said how large a table of headers it keeps. We use none, and if it has become smaller than it was at
   * first the client waits to be told: nghttp2 takes no headers before.
   */
  resizeTable(size: number): void {
    if (size >= TABLE_BYTES || !this.#usesTable) return
    this.#usesTable = false
    this.#prefix = WITHOUT_TABLE
  }
}
