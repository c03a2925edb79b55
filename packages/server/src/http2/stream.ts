// One request and its answer. What cannot be sent at once, because the client has no room for it or because nobody writes
// just now, waits here.

import type { ErrorCode } from "./error-code.js"
import { LARGEST_FRAME } from "./frame.js"
import type { Outgoing } from "./outgoing.js"

/** What reads a request. */
export interface RequestReader {
  /** Bytes of the body. */
  data(bytes: Buffer): void
  /** The client has said all. */
  ended(): void
  /** The stream is over, whoever ended it. */
  closed(): void
  /** Now and then, while it is open. */
  look(now: number): void
}

export class Stream {
  readonly id: number
  readonly contentLength: number | undefined
  reader: RequestReader | undefined = undefined
  /** What the client has room for. */
  sendWindow: number
  /** What it has sent since it was last told that there is room for more. */
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
  #hangsUp = false
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

  /** Whether anything has been said, or is about to be. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Headers, a body and trailers, of a stream that has sent nothing. */
  answer(headers: Buffer, body: Buffer, trailers: Buffer): void {
    if (!this.#begin()) return
    const outgoing = this.#outgoing
    const { length } = body
    if (
      outgoing.isInTurn &&
      length <= this.sendWindow &&
      length <= outgoing.window &&
      length <= LARGEST_FRAME
    ) {
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

  /** Headers that are all there is. What the client still sends is not waited for. */
  refuse(headers: Buffer): void {
    if (!this.#begin()) return
    this.#trailers = headers
    this.#hangsUp = true
    this.#pumpOrWait()
  }

  /** Headers, with more to come. */
  open(headers: Buffer): void {
    if (!this.#begin()) return
    this.#headers = headers
    this.#pumpOrWait()
  }

  send(bytes: Buffer): void {
    if (!this.isOver && !this.serverHasEnded && this.#trailers === undefined) this.#wait(bytes)
  }

  /** The end of what was opened. What the client still sends is not waited for. */
  end(trailers: Buffer): void {
    if (this.isOver || this.#trailers !== undefined) return
    this.#trailers = trailers
    this.#hangsUp = true
    this.#pumpOrWait()
  }

  /** Asks a client that has its answer, and goes on all the same, to stop. Within a turn. */
  hangUp(): void {
    if (this.serverHasEnded && !this.isOver) this.#outgoing.reset(this, "NO_ERROR")
  }

  /** So many bytes of the request are kept until there are more. False if the connection may not make us keep so many. */
  holds(bytes: number): boolean {
    if (this.isOver || bytes === this.heldBytes) return true
    const change = bytes - this.heldBytes
    this.heldBytes = bytes
    return this.#outgoing.hold(change)
  }

  /** Sends what waits, as far as the client has room for it, within a turn. False if it has not enough. */
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

  /** Ends a stream whose client has no room for the answer, and makes none. Within a turn. */
  look(now: number, patienceMs: number): void {
    this.reader?.look(now)
    if (this.isOver || this.unsentBytes === 0) return
    this.#blockedSince ??= now
    if (now - this.#blockedSince >= patienceMs) this.reset("CANCEL")
  }

  /** Within a turn. */
  reset(code: ErrorCode): void {
    if (!this.isOver) this.#outgoing.reset(this, code)
  }

  #begin(): boolean {
    if (this.isOver || this.#hasBegun) return false
    this.#hasBegun = true
    return true
  }

  /** A frame's worth of the first bytes that wait. */
  #sendPart(body: Buffer[]): boolean {
    const outgoing = this.#outgoing
    const first = body[0] as Buffer
    const length = Math.min(first.length, LARGEST_FRAME, this.sendWindow, outgoing.window)
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
    else if (this.#hangsUp) this.#outgoing.reset(this, "NO_ERROR")
  }
}
