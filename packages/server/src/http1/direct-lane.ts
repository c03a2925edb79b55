// The short way for the questions that matter: a plain POST is read from the socket's bytes and answered with bytes. Over
// node:http a check took half as much processor time again, for request and response objects that nobody looks at.
// Everything else goes to node:http: a connection that sends anything but plain requests, whole and in time, is handed over
// with all that has not been answered, and stays there.

import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type { Answer } from "../http/answer.js"
import { httpDate } from "./http-date.js"
import { type PlainHead, plainHead } from "./plain-request.js"

/**
 * Answers a POST, whatever comes of it: what goes wrong is an answer too. Undefined, before anything has been done, for what
 * it has no answer to.
 */
export type DirectAnswer = (target: string, body: Buffer) => Answer | Promise<Answer> | undefined

export interface DirectLaneOptions {
  readonly answer: DirectAnswer
  readonly maxHeaderBytes: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
}

/** How long a new connection may be silent before it is node:http's to watch. */
const FIRST_BYTES_MS = 1_000
/** What a client may have sent ahead, while an answer is made, before it is not listened to. */
const MOST_AHEAD = 65_536
/** Answers put together before they are written. */
const MOST_TOGETHER = 65_536
/** Promised answers to one connection before others have their turn. */
const MOST_IN_TURN = 16

/** Takes connections in front of node:http. */
export class DirectLanes {
  readonly #options: DirectLaneOptions
  readonly #lanes = new Set<Lane>()
  #isClosing = false

  constructor(options: DirectLaneOptions) {
    this.#options = options
  }

  /** `handOver` is called at most once, when the connection is node:http's. */
  open(socket: Socket, handOver: () => void): void {
    const lane = new Lane(socket, this.#options, () => {
      this.#lanes.delete(lane)
      handOver()
    })
    if (this.#isClosing) lane.endAfterNext()
    this.#lanes.add(lane)
    socket.once("close", () => this.#lanes.delete(lane))
  }

  /** From now on each connection is told, with its next answer, that this was the last. */
  close(): void {
    this.#isClosing = true
    for (const lane of this.#lanes) lane.endAfterNext()
  }

  /** Ends those on which nothing is under way. */
  endIdle(): void {
    for (const lane of this.#lanes) lane.endIfIdle()
  }

  destroy(): void {
    for (const lane of this.#lanes) lane.destroy()
  }
}

const NO_BYTES = Buffer.alloc(0)
/** Where long answers are put together, one after the other. */
let outgoing = NO_BYTES

/** One connection. */
class Lane {
  readonly #socket: Socket
  readonly #options: DirectLaneOptions
  readonly #handOver: () => void
  readonly #keptAlive: string
  /** What has come and is not answered. */
  #rest: Buffer | undefined
  /** The last head and its bytes: most clients send the same one over and over. */
  #head: PlainHead | undefined
  #headBytes: Buffer | undefined
  #isAnswering = false
  /** Answers wait for the client to read. Until they are out, nothing more is read and nothing more is answered. */
  #isHeld = false
  /** Promised answers since others had their turn. */
  #inTurn = 0
  #isLast = false
  #hasEnded = false

  constructor(socket: Socket, options: DirectLaneOptions, handOver: () => void) {
    this.#socket = socket
    this.#options = options
    this.#handOver = handOver
    this.#keptAlive = `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(options.keepAliveMs / 1000)}\r\n\r\n`
    socket.on("data", this.#onData)
    socket.on("end", this.#onEnd)
    socket.on("timeout", this.#onTimeout)
    socket.on("drain", this.#onDrain)
    socket.on("error", ignore)
    socket.setTimeout(FIRST_BYTES_MS)
  }

  endAfterNext(): void {
    this.#isLast = true
  }

  endIfIdle(): void {
    if (!this.#isAnswering && !this.#isHeld) this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    if (!this.#isAnswering && !this.#isHeld) this.#answerAll()
    else if (this.#rest.length > MOST_AHEAD) this.#socket.pause()
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    if (!this.#isAnswering && !this.#isHeld) this.#socket.end()
  }

  readonly #onTimeout = (): void => {
    if (this.#isAnswering) return
    if (this.#head === undefined) this.#leave()
    else this.#socket.destroy()
  }

  readonly #onDrain = (): void => {
    this.#isHeld = false
    if (this.#isAnswering) return
    this.#socket.resume()
    if (this.#rest !== undefined) this.#answerAll()
    else if (this.#hasEnded) this.#socket.end()
  }

  /** Answers what has come whole, in as few writes as it takes, until the client has to read first. */
  #answerAll(): void {
    let written = ""
    let isAscii = true
    let at = 0
    const bytes = this.#rest as Buffer
    while (at < bytes.length) {
      const head = this.#headAt(bytes, at)
      const end = head === undefined ? 0 : at + head.length + head.bodyLength
      const given =
        head === undefined || end > bytes.length
          ? undefined
          : this.#options.answer(head.target, bytes.subarray(at + head.length, end))
      if (given === undefined) {
        this.#rest = bytes.subarray(at)
        this.#write(written, isAscii)
        if (!this.#isHeld) this.#leave()
        return
      }
      at = end
      if (given instanceof Promise) {
        this.#rest = at < bytes.length ? bytes.subarray(at) : undefined
        this.#write(written, isAscii)
        this.#await(given)
        return
      }
      const { body } = given
      const length = Buffer.byteLength(body)
      isAscii &&= length === body.length
      written += this.#headOf(given, length)
      if (typeof body === "string") written += body
      else {
        this.#writeWith(written, isAscii, body)
        written = ""
        isAscii = true
      }
      if (this.#isLast) break
      if (typeof body === "string" && written.length <= MOST_TOGETHER) continue
      this.#write(written, isAscii)
      this.#rest = at < bytes.length ? bytes.subarray(at) : undefined
      if (!this.#isHeld && this.#rest !== undefined) this.#giveWay()
      if (this.#isHeld || this.#rest !== undefined) return
      written = ""
      isAscii = true
    }
    this.#rest = undefined
    this.#write(written, isAscii)
    if (this.#isLast || (this.#hasEnded && !this.#isHeld)) this.#socket.end()
  }

  #await(answer: Promise<Answer>): void {
    this.#isAnswering = true
    answer.then(
      (given) => this.#answered(given),
      // It promises not to. If it does all the same, no answer is better than a wrong one.
      () => this.#socket.destroy(),
    )
  }

  #answered(given: Answer): void {
    this.#isAnswering = false
    if (this.#socket.destroyed) return
    const { body } = given
    const length = Buffer.byteLength(body)
    const head = this.#headOf(given, length)
    if (typeof body === "string") this.#write(head + body, length === body.length)
    else this.#writeWith(head, true, body)
    if (this.#isLast || (this.#hasEnded && this.#rest === undefined)) this.#socket.end()
    else if (!this.#isHeld) {
      if (this.#rest === undefined) this.#socket.resume()
      else if (++this.#inTurn > MOST_IN_TURN) this.#giveWay()
      else this.#goOn()
    }
  }

  /** Goes on when others had their turn: what one client has sent ahead must not keep all of them waiting. */
  #giveWay(): void {
    this.#inTurn = 0
    this.#isAnswering = true
    setImmediate(() => {
      this.#isAnswering = false
      if (!this.#socket.destroyed) this.#goOn()
    })
  }

  #goOn(): void {
    this.#socket.resume()
    if (this.#rest !== undefined) this.#answerAll()
  }

  #headAt(bytes: Buffer, at: number): PlainHead | undefined {
    const known = this.#headBytes
    const knownEnd = at + (known?.length ?? 0)
    if (known !== undefined && knownEnd <= bytes.length && known.compare(bytes, at, knownEnd) === 0)
      return this.#head
    const head = plainHead(bytes, at, this.#options.maxHeaderBytes)
    if (head === undefined) return undefined
    if (this.#head === undefined) this.#socket.setTimeout(this.#options.keepAliveMs)
    this.#head = head
    this.#headBytes = Buffer.from(bytes.subarray(at, at + head.length))
    return head
  }

  /** What stands in headers is ASCII that the library has put together; nothing of a request or a rule is in them as it came. */
  #headOf({ status, type, headers }: Answer, length: number): string {
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
    for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
    text += `content-type: ${type}\r\ncache-control: no-store\r\ncontent-length: ${length}\r\ndate: ${httpDate()}\r\n`
    return text + (this.#isLast ? "connection: close\r\n\r\n" : this.#keptAlive)
  }

  #write(text: string, isAscii: boolean): void {
    if (text !== "") this.#written(this.#socket.write(text, isAscii ? "latin1" : "utf8"))
  }

  /** Text, and bytes that follow it, in one write. */
  #writeWith(text: string, isAscii: boolean, bytes: Uint8Array): void {
    const most = text.length * (isAscii ? 1 : 3) + bytes.length
    if (outgoing.length < most) outgoing = Buffer.allocUnsafeSlow(most)
    const room = outgoing
    const start = room.write(text, isAscii ? "latin1" : "utf8")
    room.set(bytes, start)
    const isRoom = this.#socket.write(room.subarray(0, start + bytes.length))
    // What the system has not taken at once is the socket's to keep.
    if (this.#socket.writableLength > 0) outgoing = NO_BYTES
    this.#written(isRoom)
  }

  /** Who sends and does not read is not read from either. A long answer that the system took at once is no reason. */
  #written(isRoom: boolean): void {
    if (isRoom || this.#socket.writableLength === 0) return
    this.#isHeld = true
    this.#socket.pause()
  }

  /** The rest is node:http's. */
  #leave(): void {
    const socket = this.#socket
    socket.off("data", this.#onData)
    socket.off("end", this.#onEnd)
    socket.off("timeout", this.#onTimeout)
    socket.off("drain", this.#onDrain)
    socket.off("error", ignore)
    socket.setTimeout(0)
    socket.pause()
    if (this.#rest !== undefined) socket.unshift(this.#rest)
    this.#rest = undefined
    this.#handOver()
    socket.resume()
  }
}

/** What goes wrong with a connection is told by its end. */
function ignore(): void {}
