// The socket of one client. It cuts the input into frames for the session, and sends the output of a turn in one write. It
// stops reading while the client does not read its answers.

import type { Socket } from "node:net"
import { UnreadOutput } from "../held-bytes.js"
import { ConnectionError, FRAME_HEAD, MAX_FRAME, PREFACE } from "./frame.js"
import type { FrameWriter } from "./frame-writer.js"
import { Session, type SessionConnection, type SessionOptions } from "./session.js"
import type { TurnQueue } from "./turn-queue.js"

/** What all connections of a server share. */
export interface ConnectionContext extends SessionOptions {
  readonly writer: FrameWriter
  /** How long a client may take to send its preface, to answer a ping, and to read an answer. */
  readonly requestTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  readonly queue: TurnQueue
  onError(error: unknown): void
}

/** A long turn sends its output whenever it has this many bytes. */
const FLUSH_AT = 65_536
/** How many bytes a client may leave unread before the server stops reading from it. */
const MAX_UNREAD = 1_048_576
/** A turn checks its time after this many bytes: a few hundred small frames, or about a millisecond of headers. */
const BYTES_PER_LOOK = 4_096
/** How long a client may take to read the first GOAWAY. */
const LAST_CALL_MS = 500
/** How long a client may take to close the connection after the last GOAWAY. */
const LINGER_MS = 1_000

const NOTHING = Buffer.alloc(0)
const ARE_YOU_THERE = Buffer.from("are you?")
const LAST_CALL = Buffer.from("lastcall")

export class Connection implements SessionConnection {
  readonly #socket: Socket
  readonly #context: ConnectionContext
  readonly #session: Session
  /** Bytes that are not processed yet: half a frame, or frames that wait for the next turn. */
  #rest: Buffer | undefined
  #hasPreface = false
  #isStalled = false
  #isTurnDue = false
  #isGoingOn = false
  /** Nothing more is read: the client made a mistake, is gone, or has all its answers after a GOAWAY. */
  #isEnding = false
  #endedAt: number | undefined
  #isPinged = false
  #nextLook: number
  #lastLook: number
  #idleSince: number
  readonly #unread: UnreadOutput
  #lastCall: NodeJS.Timeout | undefined

  constructor(socket: Socket, context: ConnectionContext) {
    const now = performance.now()
    this.#socket = socket
    this.#context = context
    this.#unread = new UnreadOutput(socket)
    this.#session = new Session(context.writer, context, this)
    this.#idleSince = now
    this.#lastLook = now
    this.#nextLook = now + context.requestTimeoutMs
    socket.on("data", (chunk: Buffer) => this.#take(chunk))
    socket.on("drain", () => this.#goOn())
    socket.on("end", () => this.#turn(() => this.#session.hungUp()))
    socket.on("close", () => {
      clearTimeout(this.#lastCall)
      this.#rest = undefined
      this.#session.closed()
    })
    // "close" always follows. A client that goes away is no error of the server.
    socket.on("error", () => {})
    this.#turn(() => this.#session.greet())
  }

  /**
   * Ends the connection with two GOAWAY frames, as RFC 9113, section 6.8, advises: with one, requests that are on their way
   * would be lost. The answer to the ping shows that the client has read the first.
   */
  goodbye(withinMs = LAST_CALL_MS): void {
    if (this.#session.isLeaving || this.#lastCall !== undefined) return
    this.#turn(() => {
      this.#session.warn()
      this.#session.ping(LAST_CALL)
    })
    this.#lastCall = setTimeout(
      () => this.#turn(() => this.#session.leave()),
      Math.min(withinMs, LAST_CALL_MS),
    )
  }

  cut(): void {
    this.#socket.destroy()
  }

  pong(payload: Buffer): void {
    if (!payload.equals(LAST_CALL)) this.#isPinged = false
    else if (this.#lastCall !== undefined && !this.#session.isLeaving) {
      clearTimeout(this.#lastCall)
      this.#session.leave()
    }
  }

  wantsTurn(): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    // One turn for all answers of this tick.
    process.nextTick(() => {
      this.#isTurnDue = false
      this.#turn(() => {})
    })
  }

  /** Called from time to time: cuts a client that makes no progress, and pings an idle one. */
  look(now: number): void {
    const { requestTimeoutMs } = this.#context
    const session = this.#session
    session.guard.rest(now - this.#lastLook)
    this.#lastLook = now
    if (this.#endedAt !== undefined && now - this.#endedAt >= LINGER_MS) this.cut()
    if (this.#unread.age(now) >= requestTimeoutMs) this.cut()
    if (session.streams.size > 0)
      this.#turn(() => {
        for (const stream of session.streams.values()) stream.look(now, requestTimeoutMs)
      })
    if (now < this.#nextLook) return
    this.#nextLook = now + requestTimeoutMs
    if (session.isActive) {
      session.isActive = false
      this.#idleSince = now
    } else this.#lookAtIdle(now)
  }

  /** Cuts a client that did not answer the last ping, closes one that was idle for too long, and pings the others. */
  #lookAtIdle(now: number): void {
    const session = this.#session
    if (!session.isKnown || this.#isPinged) this.cut()
    else if (session.streams.size === 0 && now - this.#idleSince >= this.#context.keepAliveMs) this.goodbye()
    else {
      this.#isPinged = true
      this.#turn(() => session.ping(ARE_YOU_THERE))
    }
  }

  #take(chunk: Buffer): void {
    if (this.#isEnding) return
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = undefined
    // These bytes were on their way when reading stopped.
    if (this.#isStalled) {
      this.#rest = bytes
      this.#count()
    } else this.#work(bytes)
  }

  #work(bytes: Buffer): void {
    let at = 0
    this.#turn(() => {
      at = this.#hasPreface ? 0 : this.#preface(bytes)
      if (this.#hasPreface) at = this.#frames(bytes, at)
    })
    // A copy, because a few bytes would keep the whole chunk in memory.
    if (at < bytes.length && !this.#isEnding) {
      this.#rest = at === 0 ? bytes : Buffer.from(bytes.subarray(at))
      this.#count()
    }
  }

  /** Checks the preface. Returns where the frames begin. */
  #preface(bytes: Buffer): number {
    const length = Math.min(bytes.length, PREFACE.length)
    if (PREFACE.compare(bytes, 0, length, 0, length) !== 0)
      throw new ConnectionError("PROTOCOL_ERROR", "the connection preface is not that of HTTP/2")
    this.#hasPreface = length === PREFACE.length
    return this.#hasPreface ? length : 0
  }

  /** Processes frames. Returns where the first one begins that is incomplete or must wait. */
  #frames(bytes: Buffer, at: number): number {
    let lookAt = at
    while (bytes.length - at >= FRAME_HEAD) {
      if (at >= lookAt && this.#context.queue.isOver) {
        this.#stall()
        this.#goOnLater()
        break
      }
      if (at >= lookAt) lookAt = at + BYTES_PER_LOOK
      const length =
        ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
      if (length > MAX_FRAME) throw new ConnectionError("FRAME_SIZE_ERROR", "a frame exceeds 16,384 bytes")
      const start = at + FRAME_HEAD
      if (start + length > bytes.length) break
      const id = bytes.readUInt32BE(at + 5) & 0x7fff_ffff
      this.#session.frame(bytes[at + 3] as number, bytes[at + 4] as number, id, bytes, start, start + length)
      at = start + length
      if (!this.#mayGoOn()) break
    }
    return at
  }

  /** Runs `work` and sends its output in one write. An error in it ends this connection only. */
  #turn(work: () => void): void {
    const { outgoing } = this.#session
    const socket = this.#socket
    if (this.#isEnding || outgoing.isInTurn || socket.destroyed) return
    outgoing.isInTurn = true
    try {
      work()
      this.#session.openWindow()
      if (socket.writableLength <= MAX_UNREAD && !outgoing.pump()) this.#goOnLater()
    } catch (error) {
      this.#fail(error)
    }
    this.#context.writer.flush(this.#socket)
    outgoing.isInTurn = false
    if (socket.writableLength > MAX_UNREAD) this.#stall()
    this.#endIfDone()
    this.#count()
  }

  /** Counts the bytes that the client makes the server hold. */
  #count(): void {
    if (this.#isEnding) return
    const { outgoing, arrivingBytes } = this.#session
    const bytes = this.#socket.writableLength + (this.#rest?.length ?? 0) + arrivingBytes
    if (outgoing.carry(bytes)) return
    this.#turn(() => {
      throw new ConnectionError("ENHANCE_YOUR_CALM", "the server holds too many bytes for its clients")
    })
  }

  #fail(error: unknown): void {
    this.#isEnding = true
    if (error instanceof ConnectionError) this.#session.leave(error.code, error.message)
    else {
      this.#context.onError(error)
      this.#session.leave("INTERNAL_ERROR")
    }
  }

  #mayGoOn(): boolean {
    if (this.#context.writer.length < FLUSH_AT) return true
    this.#context.writer.flush(this.#socket)
    if (this.#socket.writableLength <= MAX_UNREAD) return true
    this.#stall()
    return false
  }

  #stall(): void {
    this.#isStalled = true
    this.#socket.pause()
  }

  /** Continues after the other connections have had their turn. */
  #goOnLater(): void {
    if (this.#isGoingOn) return
    this.#isGoingOn = true
    this.#context.queue.wait(() => {
      this.#isGoingOn = false
      this.#goOn()
    })
  }

  /** Continues reading, because the client has read its answers or because it is this connection's turn again. */
  #goOn(): void {
    if (this.#socket.writableLength > MAX_UNREAD) return
    const bytes = this.#rest ?? NOTHING
    this.#rest = undefined
    this.#isStalled = false
    this.#work(bytes)
    if (!this.#isStalled) this.#socket.resume()
  }

  #endIfDone(): void {
    const session = this.#session
    if (session.isLeaving && session.streams.size === 0) this.#isEnding = true
    if (!this.#isEnding || this.#endedAt !== undefined) return
    this.#endedAt = performance.now()
    this.#socket.end()
    session.closed()
    // Reads and drops what still arrives: otherwise the client would get a reset instead of its answers.
    this.#socket.resume()
  }
}
