// The short way through the gateway: a plain request is read from the bytes of its connection, and answered with bytes, without
// the request and response objects of `node:http`, of which little would be used. Everything else goes to `node:http`: a
// connection that sends anything but plain requests, each whole, is handed over with all that has not been answered, and stays
// there.

import type { Socket } from "node:net"
import { type TimeoutEntry, Timeouts } from "sluice/internal"
import { SharedReads } from "../../shared-reads.js"
import { type AnswerOwner, DirectAnswer } from "../front/direct-answer.js"
import { directRequest, type Fields } from "../front/direct-request.js"
import type { Call, Gateway } from "../front/gateway.js"

export interface DirectLaneOptions {
  readonly gateway: Pick<Gateway, "call">
  readonly maxHeaderBytes: number
  /** How long an idle connection is kept; 0 is for ever. */
  readonly keepAliveMs: number
}

/** How long a new connection may be silent before it is `node:http`'s to watch. */
const FIRST_BYTES_MS = 1_000
/** What a client may have sent ahead, while an answer is under way, before it is not listened to. */
const MOST_AHEAD = 65_536

/** What all lanes of a port share. */
interface Shared {
  readonly gateway: DirectLaneOptions["gateway"]
  readonly maxHeaderBytes: number
  readonly reads: SharedReads
  readonly keptAlive: string
  readonly keptAliveEnd: string
  /** Connections on which nothing was asked yet. */
  readonly silent: Timeouts
  /** Those on which nothing is asked now. */
  readonly idle: Timeouts
}

/** Takes connections in front of `node:http`. */
export class DirectLanes {
  readonly #shared: Shared
  readonly #lanes = new Set<Lane>()
  /** Undefined until they close. */
  #lastCall: Timeouts | undefined

  constructor({ gateway, maxHeaderBytes, keepAliveMs }: DirectLaneOptions) {
    const seconds = Math.floor(keepAliveMs / 1000)
    const kept = ["Connection: keep-alive\r\n", keepAliveMs === 0 ? "" : `Keep-Alive: timeout=${seconds}\r\n`]
    this.#shared = {
      gateway,
      maxHeaderBytes,
      reads: new SharedReads(),
      keptAlive: kept.join(""),
      keptAliveEnd: [...kept, "\r\n"].join(""),
      silent: new Timeouts(FIRST_BYTES_MS),
      idle: new Timeouts(keepAliveMs || Infinity),
    }
  }

  /** The socket that the connection has moved to. `handOver` is called with it at most once, when it is `node:http`'s. */
  open(accepted: Socket, handOver: (socket: Socket) => void): Socket {
    const forget = (): void => void this.#lanes.delete(lane)
    const lane = new Lane(accepted, this.#shared, () => {
      forget()
      // The same socket comes again after an upgrade that nobody follows.
      socket.off("close", forget)
      handOver(socket)
    })
    const { socket } = lane
    if (this.#lastCall !== undefined) lane.endAfterNext(this.#lastCall)
    this.#lanes.add(lane)
    socket.once("close", forget)
    return socket
  }

  /**
   * From now on each connection is told, with its next answer, that this was the last. Those on which nothing is asked for so
   * long end by themselves.
   */
  close(lastCallMs: number): void {
    this.#lastCall = new Timeouts(lastCallMs)
    for (const lane of this.#lanes) lane.endAfterNext(this.#lastCall)
  }
}

/** One connection. */
class Lane implements AnswerOwner, TimeoutEntry {
  previous: TimeoutEntry | undefined = undefined
  next: TimeoutEntry | undefined = undefined
  dueAt = 0
  readonly socket: Socket
  isLast = false
  readonly #shared: Shared
  readonly #handOver: () => void
  /** What has come and is not answered. */
  #rest: Buffer | undefined
  #call: Call | undefined
  #answer: DirectAnswer | undefined
  /** Of the last request. */
  #fields: Fields | undefined
  #wasUsed = false
  /** Whether nothing more is answered on it. */
  #isEnding = false
  /** Whether it is `node:http`'s. */
  #hasLeft = false
  /** Where it waits for its next request, and where from the next time on. */
  #list: Timeouts | undefined
  #idle: Timeouts

  constructor(accepted: Socket, shared: Shared, handOver: () => void) {
    this.#shared = shared
    this.#handOver = handOver
    this.#idle = shared.idle
    this.socket = shared.reads.open(accepted, this.#onRead)
    const { socket } = this
    socket.on("end", this.#onEnd).on("drain", this.#onDrain)
    socket.on("close", this.#onClose).on("error", ignore)
    this.#wait(shared.silent)
  }

  get keptAlive(): string {
    return this.#shared.keptAlive
  }

  get keptAliveEnd(): string {
    return this.#shared.keptAliveEnd
  }

  endAfterNext(lastCall: Timeouts): void {
    this.isLast = true
    this.#idle = lastCall
    if (this.#call === undefined) this.#wait(lastCall)
  }

  readonly isOut = (error?: Error | null): void => {
    const call = this.#call
    // It has hung up meanwhile.
    if (error || call === undefined) return
    const isLast = this.#answer?.isLast
    this.#call = undefined
    this.#answer = undefined
    const now = performance.now()
    call.over(now)
    if (isLast === true) {
      // What else comes was told that it comes too late.
      this.#isEnding = true
      this.socket.resume().destroySoon()
      return
    }
    if (this.socket.isPaused()) this.socket.resume()
    if (this.#rest === undefined) this.#wait(this.#idle, now)
    else this.#next(this.#rest)
  }

  /** What is kept of it is copied: the next read of any connection is written over it. */
  readonly #onRead = (read: Buffer): boolean => {
    if (this.#hasLeft) return false
    if (this.#isEnding) return true
    if (this.#call === undefined) {
      this.#next(read)
      if (this.#rest !== undefined) this.#rest = Buffer.from(this.#rest)
      return true
    }
    const rest = this.#rest === undefined ? Buffer.from(read) : Buffer.concat([this.#rest, read])
    this.#rest = rest
    if (rest.length > MOST_AHEAD) this.socket.pause()
    return true
  }

  /** Takes the next request of those that have come. */
  #next(bytes: Buffer): void {
    const { gateway, maxHeaderBytes } = this.#shared
    const request = directRequest(this.socket, bytes, maxHeaderBytes, this.#fields)
    if (request === undefined) {
      this.#leave(bytes)
      return
    }
    this.#rest = request.length < bytes.length ? bytes.subarray(request.length) : undefined
    this.#fields = request.fields
    this.#wasUsed = true
    this.#leaveList()
    this.#answer = new DirectAnswer(this, request.method)
    this.#call = gateway.call(request, this.#answer)
    this.#call.start()
  }

  readonly #onEnd = (): void => {
    // As `node:http` does: who stops sending has stopped to wait.
    this.socket.end()
  }

  readonly #onDrain = (): void => this.#answer?.drained()

  #wait(list: Timeouts, now = performance.now()): void {
    this.#leaveList()
    this.#list = list
    list.add(this, now)
  }

  #leaveList(): void {
    this.#list?.remove(this)
    this.#list = undefined
  }

  /** Nothing has come for so long. */
  expire(): void {
    this.#list = undefined
    if (this.#wasUsed || this.isLast) this.socket.destroy()
    else this.#leave(undefined)
  }

  readonly #onClose = (): void => {
    this.#leaveList()
    this.#rest = undefined
    this.#answer = undefined
    this.#call?.over()
    this.#call = undefined
  }

  /** The rest is `node:http`'s. */
  #leave(rest: Buffer | undefined): void {
    const { socket } = this
    this.#leaveList()
    this.#rest = undefined
    this.#hasLeft = true
    // Data is what it gives where it is not read into the shared buffer.
    socket.off("data", this.#onRead).off("end", this.#onEnd).off("drain", this.#onDrain)
    socket.off("close", this.#onClose).off("error", ignore)
    socket.pause()
    if (rest !== undefined) socket.unshift(Buffer.from(rest))
    this.#handOver()
    socket.resume()
  }
}

/** What goes wrong with a connection is told by its end. */
function ignore(): void {}
