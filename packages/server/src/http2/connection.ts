// One client's socket: bytes in, frames to the session, and what it has to say out in one write per turn. It stops reading
// when the client does not take its answers.

import type { Socket } from "node:net"
import { ConnectionError } from "./error-code.js"
import { FRAME_HEAD, LARGEST_FRAME, PREFACE } from "./frame.js"
import type { FrameWriter } from "./frame-writer.js"
import { type Line, Session, type SessionOptions } from "./session.js"
import type { TurnQueue } from "./turn-queue.js"

/** What connections share: they take turns. */
export interface Turns extends SessionOptions {
  readonly writer: FrameWriter
  /** How long a client may say nothing of what it owes. */
  readonly requestTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  readonly queue: TurnQueue
  onError(error: unknown): void
}

/** Frames are sent when there are so many bytes of them, in the middle of a long turn too. */
const FLUSH_AT = 65_536
/** Bytes that a client may leave untaken before nothing more is read from it. */
const MOST_UNTAKEN = 1_048_576
/** After so many bytes a turn looks whether it is over: a few hundred small frames, or a millisecond's worth of headers. */
const BYTES_PER_LOOK = 4_096
/** How long a client may take to have seen that it should go elsewhere. */
const LAST_CALL_MS = 500
/** How long a client that was told to go may take to hang up. */
const LINGER_MS = 1_000

const NOTHING = Buffer.alloc(0)
const ARE_YOU_THERE = Buffer.from("are you?")
const LAST_CALL = Buffer.from("lastcall")

export class Connection implements Line {
  readonly #socket: Socket
  readonly #turns: Turns
  readonly #session: Session
  /** Bytes of a frame that has not arrived as a whole, or that has to wait. */
  #rest: Buffer | undefined
  #hasPreface = false
  #isStalled = false
  #isTurnDue = false
  #isGoingOn = false
  /** Nothing more is read: the client is wrong, or gone, or has been told to go and has all it asked for. */
  #isEnding = false
  #endedAt: number | undefined
  #isPinged = false
  #nextLook: number
  #lastLook: number
  #idleSince: number
  /** How many bytes the client has taken, and since when no more, though there are some for it. */
  #taken = 0
  #untakenSince: number | undefined
  #lastCall: NodeJS.Timeout | undefined

  constructor(socket: Socket, turns: Turns) {
    const now = performance.now()
    this.#socket = socket
    this.#turns = turns
    this.#session = new Session(turns.writer, turns, this)
    this.#idleSince = now
    this.#lastLook = now
    this.#nextLook = now + turns.requestTimeoutMs
    socket.on("data", (chunk: Buffer) => this.#take(chunk))
    socket.on("drain", () => this.#goOn())
    socket.on("end", () => this.#turn(() => this.#session.hungUp()))
    socket.on("close", () => {
      clearTimeout(this.#lastCall)
      this.#rest = undefined
      this.#session.closed()
    })
    // Always followed by "close"; a client that goes away is nothing to report.
    socket.on("error", () => {})
    this.#turn(() => this.#session.greet())
  }

  /**
   * Tells the client to go elsewhere, in two steps as RFC 9113 advises: one that is told only once may lose the requests that
   * crossed the message. It has seen the first when it answers the ping behind it.
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
    // Once for all answers of a tick.
    process.nextTick(() => {
      this.#isTurnDue = false
      this.#turn(() => {})
    })
  }

  /** Now and then: is anybody there, and does what is under way go on? */
  look(now: number): void {
    const { requestTimeoutMs } = this.#turns
    const session = this.#session
    session.guard.rest(now - this.#lastLook)
    this.#lastLook = now
    if (this.#endedAt !== undefined && now - this.#endedAt >= LINGER_MS) this.cut()
    if (this.#untakenMs(now) >= requestTimeoutMs) this.cut()
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

  /** For how long the client has taken nothing of what is there for it. */
  #untakenMs(now: number): number {
    const { writableLength } = this.#socket
    if (writableLength === 0) {
      this.#untakenSince = undefined
      return 0
    }
    const taken = this.#socket.bytesWritten - writableLength
    if (this.#untakenSince === undefined || taken !== this.#taken) this.#untakenSince = now
    this.#taken = taken
    return now - this.#untakenSince
  }

  /** After a mistake, or when it has vanished, a client does not answer a ping. */
  #lookAtIdle(now: number): void {
    const session = this.#session
    if (!session.isKnown || this.#isPinged) this.cut()
    else if (session.streams.size === 0 && now - this.#idleSince >= this.#turns.keepAliveMs) this.goodbye()
    else {
      this.#isPinged = true
      this.#turn(() => session.ping(ARE_YOU_THERE))
    }
  }

  #take(chunk: Buffer): void {
    if (this.#isEnding) return
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = undefined
    // What comes while it is stalled was on its way when reading stopped.
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
    // A copy: a few bytes must not keep the whole chunk.
    if (at < bytes.length && !this.#isEnding) {
      this.#rest = at === 0 ? bytes : Buffer.from(bytes.subarray(at))
      this.#count()
    }
  }

  /** Where the frames begin. */
  #preface(bytes: Buffer): number {
    const length = Math.min(bytes.length, PREFACE.length)
    if (PREFACE.compare(bytes, 0, length, 0, length) !== 0)
      throw new ConnectionError("PROTOCOL_ERROR", "this is not HTTP/2")
    this.#hasPreface = length === PREFACE.length
    return this.#hasPreface ? length : 0
  }

  /** Where the first frame begins that has not come as a whole, or has to wait. */
  #frames(bytes: Buffer, at: number): number {
    let lookAt = at
    while (bytes.length - at >= FRAME_HEAD) {
      if (at >= lookAt && this.#turns.queue.isOver) {
        this.#stall()
        this.#goOnLater()
        break
      }
      if (at >= lookAt) lookAt = at + BYTES_PER_LOOK
      const length =
        ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
      if (length > LARGEST_FRAME) throw new ConnectionError("FRAME_SIZE_ERROR", "a frame is too large")
      const start = at + FRAME_HEAD
      if (start + length > bytes.length) break
      const id = bytes.readUInt32BE(at + 5) & 0x7fff_ffff
      this.#session.frame(bytes[at + 3] as number, bytes[at + 4] as number, id, bytes, start, start + length)
      at = start + length
      if (!this.#mayGoOn()) break
    }
    return at
  }

  /** What is sent in `work` goes out together. Whatever goes wrong in it ends this connection, and no other. */
  #turn(work: () => void): void {
    const { outgoing } = this.#session
    const socket = this.#socket
    if (this.#isEnding || outgoing.isInTurn || socket.destroyed) return
    outgoing.isInTurn = true
    try {
      work()
      this.#session.giveRoom()
      if (socket.writableLength <= MOST_UNTAKEN && !outgoing.pump()) this.#goOnLater()
    } catch (error) {
      this.#fail(error)
    }
    this.#flush()
    outgoing.isInTurn = false
    if (socket.writableLength > MOST_UNTAKEN) this.#stall()
    this.#endIfDone()
    this.#count()
  }

  /** What the client makes us hold has changed. */
  #count(): void {
    if (this.#isEnding) return
    const { outgoing, arrivingBytes } = this.#session
    const bytes = this.#socket.writableLength + (this.#rest?.length ?? 0) + arrivingBytes
    if (outgoing.carry(bytes)) return
    this.#turn(() => {
      throw new ConnectionError("ENHANCE_YOUR_CALM", "clients make the server hold too much")
    })
  }

  #fail(error: unknown): void {
    this.#isEnding = true
    if (error instanceof ConnectionError) this.#session.leave(error.code, error.message)
    else {
      this.#turns.onError(error)
      this.#session.leave("INTERNAL_ERROR")
    }
  }

  #mayGoOn(): boolean {
    if (this.#turns.writer.length < FLUSH_AT) return true
    this.#flush()
    if (this.#socket.writableLength <= MOST_UNTAKEN) return true
    this.#stall()
    return false
  }

  #stall(): void {
    this.#isStalled = true
    this.#socket.pause()
  }

  /** When others have had their turn. */
  #goOnLater(): void {
    if (this.#isGoingOn) return
    this.#isGoingOn = true
    this.#turns.queue.wait(() => {
      this.#isGoingOn = false
      this.#goOn()
    })
  }

  /** The client has taken its answers, or others have had their turn. */
  #goOn(): void {
    if (this.#socket.writableLength > MOST_UNTAKEN) return
    const bytes = this.#rest ?? NOTHING
    this.#rest = undefined
    this.#isStalled = false
    this.#work(bytes)
    if (!this.#isStalled) this.#socket.resume()
  }

  #flush(): void {
    const { writer } = this.#turns
    if (writer.length === 0) return
    const socket = this.#socket
    if (socket.writableEnded || socket.destroyed) {
      writer.clear(false)
    } else if (socket.writableLength > 0) {
      socket.write(Buffer.from(writer.written()))
      writer.clear(false)
    } else {
      socket.write(writer.written())
      // Nearly always the system has taken the bytes by now, and the buffer can be used again.
      writer.clear(socket.writableLength > 0)
    }
  }

  #endIfDone(): void {
    const session = this.#session
    if (session.isLeaving && session.streams.size === 0) this.#isEnding = true
    if (!this.#isEnding || this.#endedAt !== undefined) return
    this.#endedAt = performance.now()
    this.#socket.end()
    session.closed()
    // What it still sends is read and dropped, so that it sees the answers and not a reset.
    this.#socket.resume()
  }
}
