// Passes the body of a request on to the upstream, no faster than the upstream receives it. A client that sends too slowly is
// cut off. Reading starts before there is an upstream connection: a client that sends nothing occupies none.

import { type TimeoutEntry, Timeouts } from "sluice/internal"
import type { UploadRate } from "../routes/route.js"
import type { Connection } from "../upstream/connection.js"
import type { BodyFraming, RequestBody } from "./client-request.js"
import { passedTrailers } from "./headers.js"

export interface UploadWatch {
  /** The first bytes have arrived, or the body is empty. Called once, and only before there is a connection. */
  begun(): void
  moved(bytes: number): void
  sent(): void
  /** The client sent more or less than its Content-Length. */
  miscounted(): void
  /** The client sends more slowly than the route allows. */
  tooSlow(): void
}

/** Checks the pace of all uploads at this interval. */
const paceChecks = new Timeouts(500)

export class Upload implements TimeoutEntry {
  previous: TimeoutEntry | undefined = undefined
  next: TimeoutEntry | undefined = undefined
  dueAt = 0
  readonly #body: RequestBody
  readonly #framing: BodyFraming
  #pace: UploadPace | undefined
  readonly #watch: UploadWatch
  #connection: Connection | undefined
  /** Bytes that arrived before there was a connection. */
  #first: Buffer | undefined
  #hasEnded = false
  #bytes = 0
  #isWaiting = false
  /** Whether the client may send: it did not ask first, or has received 100 Continue. */
  #isInvited = true
  #isStopped = false
  #isCheckDue = false

  constructor(body: RequestBody, framing: BodyFraming, pace: UploadPace | undefined, watch: UploadWatch) {
    this.#body = body
    this.#framing = framing
    this.#pace = pace
    this.#watch = watch
  }

  /** Reads until the first bytes arrive. A client that waits for 100 Continue is not slow. */
  open(isInvited: boolean): void {
    this.#isInvited = isInvited
    if (!isInvited) this.#pace?.pause(performance.now())
    if (this.#pace !== undefined) this.#checkSoon()
    // A body whose beginning was read for the decision is paused.
    this.#body.on("data", this.#onData).on("end", this.#onEnd).resume()
  }

  /** Sends what has arrived, and then the rest as it arrives. */
  start(connection: Connection): void {
    const first = this.#first
    this.#connection = connection
    this.#first = undefined
    if (first !== undefined) this.#send(first)
    if (this.#isStopped) return
    if (this.#hasEnded) this.#finish()
    else if (!this.#isWaiting) this.#goOn()
  }

  /** The client has received 100 Continue. */
  invited(): void {
    this.#isInvited = true
    if (!this.#isWaiting) this.#pace?.resume(performance.now())
  }

  /** The upstream has begun to answer: from here on the upload has no minimum rate. */
  answered(): void {
    this.#pace = undefined
    this.#stopChecks()
  }

  /** Whether the upstream has to receive what was written before more is read. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  drained(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#goOn()
  }

  /** Stops reading. */
  stop(): void {
    this.#isStopped = true
    this.#stopChecks()
    this.#body.off("data", this.#onData).off("end", this.#onEnd)
    this.#body.pause()
  }

  /** Checks the pace. */
  expire(): void {
    this.#isCheckDue = false
    if (this.#pace?.isTooSlow(performance.now()) === true) this.#watch.tooSlow()
    else this.#checkSoon()
  }

  #checkSoon(): void {
    this.#isCheckDue = true
    paceChecks.add(this, performance.now())
  }

  #stopChecks(): void {
    if (this.#isCheckDue) paceChecks.remove(this)
    this.#isCheckDue = false
  }

  #goOn(): void {
    if (this.#isInvited) this.#pace?.resume(performance.now())
    this.#body.resume()
  }

  #wait(): void {
    this.#pace?.pause(performance.now())
    this.#body.pause()
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#pace?.moved(bytes.length, performance.now())
    if (this.#connection !== undefined) {
      this.#send(bytes)
      return
    }
    this.#first = this.#first === undefined ? bytes : Buffer.concat([this.#first, bytes])
    this.#wait()
    if (this.#first === bytes) this.#watch.begun()
  }

  #send(bytes: Buffer): void {
    const connection = this.#connection as Connection
    this.#bytes += bytes.length
    this.#watch.moved(bytes.length)
    let hasRoom: boolean
    if (this.#framing === "chunked") {
      connection.socket.cork()
      connection.write(`${bytes.length.toString(16)}\r\n`)
      connection.write(bytes)
      hasRoom = connection.write("\r\n")
      process.nextTick(uncork, connection)
    } else if (this.#bytes > (this.#framing as number)) {
      this.#watch.miscounted()
      return
    } else hasRoom = connection.write(bytes)
    if (hasRoom) return
    this.#isWaiting = true
    this.#wait()
  }

  readonly #onEnd = (): void => {
    if (this.#connection !== undefined) {
      this.#finish()
      return
    }
    this.#hasEnded = true
    this.#pace?.pause(performance.now())
    if (this.#first === undefined) this.#watch.begun()
  }

  #finish(): void {
    const connection = this.#connection as Connection
    this.#stopChecks()
    if (this.#framing === "chunked") connection.write(`0\r\n${this.#trailers()}\r\n`)
    else if (this.#bytes !== this.#framing) {
      this.#watch.miscounted()
      return
    }
    connection.sent()
    this.#watch.sent()
  }

  #trailers(): string {
    const { rawTrailers } = this.#body
    if (rawTrailers.length === 0) return ""
    const passed = passedTrailers(rawTrailers)
    let text = ""
    for (let i = 0; i < passed.length; i += 2) text += `${passed[i]}: ${passed[i + 1]}\r\n`
    return text
  }
}

function uncork(connection: Connection): void {
  connection.socket.uncork()
}

/**
 * Whether a client sends its body fast enough. Each byte adds to the time that the client may take, and waiting for the client
 * uses it up. The time is capped, so that a body that arrives fast at first may pause later, but not for ever.
 */
export class UploadPace {
  readonly #msPerByte: number
  readonly #maxMs: number
  #leftMs: number
  /** Since when the client is waited for. Undefined while it is not. */
  #since: number | undefined

  constructor({ bytesPerSecond, graceMs }: UploadRate, maxMs: number, now: number) {
    this.#msPerByte = 1_000 / bytesPerSecond
    this.#maxMs = Math.max(maxMs, graceMs)
    this.#leftMs = graceMs
    this.#since = now
  }

  moved(bytes: number, now: number): void {
    this.#leftMs = Math.min(this.#maxMs, this.#leftAt(now) + bytes * this.#msPerByte)
    if (this.#since !== undefined) this.#since = now
  }

  /** The upstream, not the client, is waited for now. */
  pause(now: number): void {
    this.#leftMs = this.#leftAt(now)
    this.#since = undefined
  }

  resume(now: number): void {
    this.#since ??= now
  }

  isTooSlow(now: number): boolean {
    return this.#leftAt(now) < 0
  }

  #leftAt(now: number): number {
    return this.#since === undefined ? this.#leftMs : this.#leftMs - (now - this.#since)
  }
}
