// What a connection sends: it keeps to the flow-control window of the client, and lets waiting streams send later.

import { ConnectionBytes, type HeldBytes } from "../held-bytes.js"
import { ConnectionError, type ErrorCode, FIRST_WINDOW, MAX_WINDOW } from "./frame.js"
import type { FrameWriter } from "./frame-writer.js"
import { TABLE_BYTES } from "./hpack-table.js"

/** The most bytes that one connection may hold: answers that the client does not read, and requests that it does not finish. */
const MAX_UNSENT = 8_388_608
const MAX_HELD = 8_388_608
/** How many bytes waiting streams send in one turn. */
const MAX_PER_TURN = 131_072
/** A byte before a header block that sets the size of the dynamic table to 0. */
const WITHOUT_TABLE = 0x20

/** What the connection needs of a stream. */
export interface OutgoingStream {
  readonly id: number
  /** Bytes that wait to be sent. */
  unsentBytes: number
  /** Bytes of the request that are kept. */
  heldBytes: number
  /** Sends what waits. False if the window is too small for all of it. */
  pump(): boolean
}

/** The session, which decides what happens to streams. */
export interface Streams {
  /** Both sides have ended the stream. */
  over(stream: OutgoingStream): void
  reset(stream: OutgoingStream, code: ErrorCode): void
  /** There is something to send, and the connection is not in a turn. */
  wantsTurn(): void
  /** The client leaves more unread than it may. */
  overflow(): void
}

export class Outgoing {
  /** Whether this connection may use the writer now. Only one connection at a time may. */
  isInTurn = false
  /** How many bytes the client accepts now. */
  window = FIRST_WINDOW
  /** How many bytes the client accepts on each new stream. */
  firstWindow = FIRST_WINDOW
  readonly #writer: FrameWriter
  readonly #streams: Streams
  readonly #waiting = new Set<OutgoingStream>()
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

  reset(stream: OutgoingStream, code: ErrorCode): void {
    this.#streams.reset(stream, code)
  }

  over(stream: OutgoingStream): void {
    this.#streams.over(stream)
  }

  wait(stream: OutgoingStream): void {
    this.#waiting.add(stream)
    if (!this.isInTurn) this.#streams.wantsTurn()
  }

  forget(stream: OutgoingStream): void {
    this.#waiting.delete(stream)
    this.#unsent -= stream.unsentBytes
    this.#held -= stream.heldBytes
    stream.unsentBytes = 0
    stream.heldBytes = 0
    this.#count()
  }

  unsent(bytes: number): void {
    this.#unsent += bytes
    if (!this.#count() || this.#unsent > MAX_UNSENT) this.#streams.overflow()
  }

  /** Counts more bytes of requests. False if this connection, or all of them together, hold too many. */
  hold(bytes: number): boolean {
    this.#held += bytes
    return this.#count() && this.#held <= MAX_HELD
  }

  /** Sets how many bytes of half frames and unread output the connection itself holds. False as for `hold`. */
  carry(bytes: number): boolean {
    this.#carried = bytes
    return this.#count()
  }

  /**
   * Lets waiting streams send. Called once per turn, because a client may open its window a byte at a time. False if a turn is
   * too short for all of it.
   */
  pump(): boolean {
    for (const stream of this.#waiting) {
      if (this.#writer.length >= MAX_PER_TURN) return false
      if (stream.pump()) this.#waiting.delete(stream)
    }
    return true
  }

  /** Opens the client's window further. */
  widen(increment: number): void {
    this.window += increment
    if (this.window > MAX_WINDOW)
      throw new ConnectionError("FLOW_CONTROL_ERROR", "the window of the connection exceeds 2^31 - 1")
  }

  #count(): boolean {
    return this.#bytes.set(this.#unsent + this.#held + this.#carried)
  }

  /**
   * The client announced the size of its header table. This server uses no dynamic table. If the size shrank, it must say so
   * once: nghttp2 accepts no headers before.
   */
  resizeTable(size: number): void {
    if (size >= TABLE_BYTES || !this.#usesTable) return
    this.#usesTable = false
    this.#prefix = WITHOUT_TABLE
  }
}
