// One request and its answer. It keeps what cannot be sent yet, because the client's window is full or because another
// connection has its turn.

import { type ErrorCode, MAX_FRAME } from "./frame.js"
import type { Outgoing } from "./outgoing.js"

/** Receives a request. */
export interface RequestReader {
  /** Some bytes of the body. */
  data(bytes: Buffer): void
  /** The client has sent the whole request. */
  ended(): void
  /** The stream is over, whichever side ended it. */
  closed(): void
  /** Called from time to time while the stream is open. */
  look(now: number): void
}

export class Stream {
  readonly id: number
  readonly contentLength: number | undefined
  reader: RequestReader | undefined = undefined
  /** How many bytes the client accepts on this stream. */
  sendWindow: number
  /** Bytes received since the last WINDOW_UPDATE. */
  taken = 0
  received = 0
  clientHasEnded = false
  serverHasEnded = false
  isOver = false
  /** Bytes that wait to be sent. */
  unsentBytes = 0
  /** Bytes of the request that are kept. */
  heldBytes = 0
  readonly #outgoing: Outgoing
  #hasBegun = false
  #resetsAtEnd = false
  #headers: Buffer | undefined = undefined
  #body: Buffer[] | undefined = undefined
  #trailers: Buffer | undefined = undefined
  #blockedSince: number | undefined = undefined

  constructor(id: number, outgoing: Outgoing, contentLength: number | undefined) {
    this.id = id
    this.contentLength = contentLength
    this.#outgoing = outgoing
    this.sendWindow = outgoing.firstWindow
  }

  /** Whether the answer has begun. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Sends a whole answer: headers, body and trailers. */
  answer(headers: Buffer, body: Buffer, trailers: Buffer): void {
    if (!this.#begin()) return
    const outgoing = this.#outgoing
    const { length } = body
    if (outgoing.isInTurn && length <= this.sendWindow && length <= outgoing.window && length <= MAX_FRAME) {
      outgoing.headers(this.id, headers, false)
      this.sendWindow -= length
      outgoing.data(this.id, body, 0, length)
      this.#finish(trailers)
      return
    }
    this.#headers = headers
    this.#trailers = trailers
    this.#wait(body)
  }

  /** Answers with headers alone, and does not wait for the rest of the request. */
  refuse(headers: Buffer): void {
    if (!this.#begin()) return
    this.#trailers = headers
    this.#resetsAtEnd = true
    this.#pumpOrWait()
  }

  /** Sends headers, with a body to follow. */
  open(headers: Buffer): void {
    if (!this.#begin()) return
    this.#headers = headers
    this.#pumpOrWait()
  }

  send(bytes: Buffer): void {
    if (!this.isOver && !this.serverHasEnded && this.#trailers === undefined) this.#wait(bytes)
  }

  /** Ends an answer that `open` began, and does not wait for the rest of the request. */
  end(trailers: Buffer): void {
    if (this.isOver || this.#trailers !== undefined) return
    this.#trailers = trailers
    this.#resetsAtEnd = true
    this.#pumpOrWait()
  }

  /** Resets a stream whose client has its answer but keeps sending. Call it within a turn. */
  hangUp(): void {
    if (this.serverHasEnded && !this.isOver) this.#outgoing.reset(this, "NO_ERROR")
  }

  /** Sets how many bytes of the request are kept. False if the connection holds too many. */
  holds(bytes: number): boolean {
    if (this.isOver || bytes === this.heldBytes) return true
    const change = bytes - this.heldBytes
    this.heldBytes = bytes
    return this.#outgoing.hold(change)
  }

  /** Sends what waits, as far as the window allows. Call it within a turn. False if something is left. */
  pump(): boolean {
    if (this.#headers !== undefined) this.#outgoing.headers(this.id, this.#headers, false)
    this.#headers = undefined
    while (this.#body !== undefined && this.#body.length > 0) {
      if (!this.#sendPart(this.#body)) return false
    }
    this.#blockedSince = undefined
    if (this.#trailers !== undefined && !this.serverHasEnded) this.#finish(this.#trailers)
    return true
  }

  /** Resets the stream if its client has not opened the window for too long. Call it within a turn. */
  look(now: number, timeoutMs: number): void {
    this.reader?.look(now)
    if (this.isOver || this.unsentBytes === 0) return
    this.#blockedSince ??= now
    if (now - this.#blockedSince >= timeoutMs) this.reset("CANCEL")
  }

  /** Call it within a turn. */
  reset(code: ErrorCode): void {
    if (!this.isOver) this.#outgoing.reset(this, code)
  }

  #begin(): boolean {
    if (this.isOver || this.#hasBegun) return false
    this.#hasBegun = true
    return true
  }

  /** Sends at most one frame of what waits. */
  #sendPart(body: Buffer[]): boolean {
    const outgoing = this.#outgoing
    const first = body[0] as Buffer
    const length = Math.min(first.length, MAX_FRAME, this.sendWindow, outgoing.window)
    if (length <= 0) return false
    outgoing.data(this.id, first, 0, length)
    this.sendWindow -= length
    this.unsentBytes -= length
    outgoing.unsent(-length)
    this.#blockedSince = undefined
    if (length === first.length) body.shift()
    else body[0] = first.subarray(length)
    return true
  }

  #wait(bytes: Buffer): void {
    this.#body ??= []
    if (bytes.length > 0) this.#body.push(bytes)
    this.unsentBytes += bytes.length
    this.#outgoing.unsent(bytes.length)
    this.#pumpOrWait()
  }

  #pumpOrWait(): void {
    if (!this.#outgoing.isInTurn || !this.pump()) this.#outgoing.wait(this)
  }

  #finish(trailers: Buffer): void {
    this.#outgoing.headers(this.id, trailers, true)
    this.serverHasEnded = true
    if (this.clientHasEnded) this.#outgoing.over(this)
    else if (this.#resetsAtEnd) this.#outgoing.reset(this, "NO_ERROR")
  }
}

/** How many streams are remembered. Late frames of older ones have long arrived. */
const MAX_RESET_STREAMS = 1_000

/** The ids of streams that were reset, whose frames may still arrive. */
export class ResetStreams {
  readonly #ids = new Set<number>()

  has(id: number): boolean {
    return this.#ids.has(id)
  }

  add(id: number): void {
    this.#ids.add(id)
    if (this.#ids.size <= MAX_RESET_STREAMS) return
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest)
      return
    }
  }
}
