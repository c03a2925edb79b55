// The body of a request on its way to the upstream, no faster than the upstream takes it, and no slower than a client may send
// it. Most are read from before there is a connection to the upstream: who sends nothing needs none.

import { type TimeoutEntry, Timeouts } from "sluice/internal"
import type { UploadRate } from "../routes/route.js"
import type { Connection } from "../upstream/connection.js"
import type { RequestBody } from "./client-request.js"
import { passedTrailers } from "./headers.js"
import type { BodyFraming } from "./request-head.js"

export interface UploadWatch {
  /** Something is there to be sent, or the body is empty. Told once, and only before there is a connection. */
  begun(): void
  moved(bytes: number): void
  sent(): void
  /** The client sent more or less than it had announced. */
  miscounted(): void
  /** The client sends less than it must. */
  tooSlow(): void
}

/** How often uploads are looked at. */
const looks = new Timeouts(500)

export class Upload implements TimeoutEntry {
  previous: TimeoutEntry | undefined = undefined
  next: TimeoutEntry | undefined = undefined
  dueAt = 0
  readonly #body: RequestBody
  readonly #framing: BodyFraming
  #pace: UploadPace | undefined
  readonly #watch: UploadWatch
  #connection: Connection | undefined
  /** What came before there was a connection. */
  #first: Buffer | undefined
  #hasEnded = false
  #bytes = 0
  #isWaiting = false
  /** Whether the client was told that it may send. */
  #isInvited = true
  #isStopped = false
  #isLookedAt = false

  constructor(body: RequestBody, framing: BodyFraming, pace: UploadPace | undefined, watch: UploadWatch) {
    this.#body = body
    this.#framing = framing
    this.#pace = pace
    this.#watch = watch
  }

  /** Reads until something is there. A client that waits to be invited is not slow. */
  open(isInvited: boolean): void {
    this.#isInvited = isInvited
    if (!isInvited) this.#pace?.pause(performance.now())
    if (this.#pace !== undefined) this.#look()
    this.#body.on("data", this.#onData).on("end", this.#onEnd)
  }

  /** Sends what there is, and what comes. */
  start(connection: Connection): void {
    const first = this.#first
    this.#connection = connection
    this.#first = undefined
    if (first !== undefined) this.#send(first)
    if (this.#isStopped) return
    if (this.#hasEnded) this.#finish()
    else if (!this.#isWaiting) this.#goOn()
  }

  /** The client has been told to go on. */
  invited(): void {
    this.#isInvited = true
    if (!this.#isWaiting) this.#pace?.resume(performance.now())
  }

  /** The upstream answers already: the two talk with each other, as slowly as they like. */
  answered(): void {
    this.#pace = undefined
    this.#lookNoMore()
  }

  /** Whether the upstream has to take what it has before more is read. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  drained(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#goOn()
  }

  /** Reads no more. */
  stop(): void {
    this.#isStopped = true
    this.#lookNoMore()
    this.#body.off("data", this.#onData).off("end", this.#onEnd)
    this.#body.pause()
  }

  /** Time for a look at how fast it is. */
  expire(): void {
    this.#isLookedAt = false
    if (this.#pace?.isTooSlow(performance.now()) === true) this.#watch.tooSlow()
    else this.#look()
  }

  #look(): void {
    this.#isLookedAt = true
    looks.add(this, performance.now())
  }

  #lookNoMore(): void {
    if (this.#isLookedAt) looks.remove(this)
    this.#isLookedAt = false
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
    this.#lookNoMore()
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
 * Whether a client sends its body fast enough. Every byte gains it time, and waiting for it takes that time away; only so much
 * can be saved up, so that a body that came fast at first may pause later, but not for ever.
 */
export class UploadPace {
  readonly #msPerByte: number
  readonly #mostMs: number
  #leftMs: number
  /** Since when we wait for the client. Undefined while we do not. */
  #since: number | undefined

  constructor({ bytesPerSecond, graceMs }: UploadRate, mostMs: number, now: number) {
    this.#msPerByte = 1_000 / bytesPerSecond
    this.#mostMs = Math.max(mostMs, graceMs)
    this.#leftMs = graceMs
    this.#since = now
  }

  moved(bytes: number, now: number): void {
    this.#leftMs = Math.min(this.#mostMs, this.#leftAt(now) + bytes * this.#msPerByte)
    if (this.#since !== undefined) this.#since = now
  }

  /** It is the upstream that is waited for. */
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
