// One connection to an upstream: one exchange at a time, and idle in between.

import type { Socket } from "node:net"
import type { AnswerHead } from "./answer-head.js"
import { AnswerParser, type AnswerReader, type Asked } from "./answer-parser.js"
import type { ClientShare } from "./client-shares.js"

export interface Exchanging extends AnswerReader {
  /** So much has come for now: what is to go out together, goes out. */
  paused(): void
  /** More may be written. */
  drained(): void
  /** There will be no more of the answer. `InvalidAnswer` for one that is no HTTP. */
  failed(error: Error): void
}

/** Who keeps connections that are idle. */
export interface ConnectionOwner {
  idled(connection: Connection): void
  closed(connection: Connection): void
}

export class Connection {
  readonly socket: Socket
  /** How many exchanges it has had. */
  uses = 0
  /** When it became idle, by `performance.now()`. */
  idleSince = 0
  /** The client that holds it, while it is in use. */
  holder: ClientShare | undefined
  /** How long the upstream says that it keeps it. */
  keptMs = Number.POSITIVE_INFINITY
  readonly #owner: ConnectionOwner
  readonly #parser: AnswerParser
  #exchanging: Exchanging | undefined
  #isSent = true

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.socket = socket
    this.#owner = owner
    this.#parser = new AnswerParser({
      informed: (head) => this.#exchanging?.informed(head),
      headed: (head) => this.#headed(head),
      body: (bytes) => this.#exchanging?.body(bytes),
      ended: (trailers) => this.#exchanging?.ended(trailers),
      switched: (head, rest) => this.#exchanging?.switched(head, rest),
    })
    socket.on("drain", this.#onDrain).on("end", this.#onEnd)
    socket.on("error", (error) => this.#fail(error))
    socket.on("close", () => {
      this.#fail(new Error("closed"))
      owner.closed(this)
    })
  }

  readonly #onDrain = (): void => this.#exchanging?.drained()
  readonly #onEnd = (): void => this.#end()

  get isOpen(): boolean {
    return this.socket.writable && !this.socket.readableEnded
  }

  /** Whether anything has come of the answer to the request that is under way. */
  get hasAnswerBytes(): boolean {
    return this.#parser.hasBytes
  }

  /** The next exchange. Whoever calls it writes its request, and says when that is `sent`. */
  begin(exchanging: Exchanging, asked: Asked): void {
    this.uses++
    this.#exchanging = exchanging
    this.#isSent = false
    this.#parser.begin(asked)
  }

  write(data: string | Buffer): boolean {
    return typeof data === "string" ? this.socket.write(data, "latin1") : this.socket.write(data)
  }

  /** The whole request is written. */
  sent(): void {
    this.#isSent = true
  }

  /** Nobody wants the answer any more. What is under way on it cannot be told from what comes next, so it ends. */
  drop(): void {
    this.#exchanging = undefined
    this.socket.destroy()
  }

  /** Hands over the socket of a connection that speaks another protocol now. */
  detach(): Socket {
    this.#exchanging = undefined
    const { socket } = this
    return socket.off("data", this.read).off("drain", this.#onDrain).off("end", this.#onEnd)
  }

  #headed(head: AnswerHead): void {
    const timeout = head.keepAlive === "" ? null : /timeout=(\d{1,6})/i.exec(head.keepAlive)
    if (timeout !== null) this.keptMs = Number(timeout[1]) * 1_000
    this.#exchanging?.headed(head)
  }

  /** What has come on its socket. Nothing of it is kept. */
  readonly read = (bytes: Buffer): void => {
    const exchanging = this.#exchanging
    if (exchanging === undefined) {
      // Nothing was asked: the next request would take it for its own answer.
      this.socket.destroy()
      return
    }
    try {
      this.#parser.read(bytes)
      // Unless it was dropped meanwhile.
      if (!this.#parser.isOver && this.#exchanging === exchanging) exchanging.paused()
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    if (this.#parser.isOver) this.#finish()
  }

  #end(): void {
    if (this.#exchanging !== undefined) {
      if (this.#parser.end()) this.#exchanging = undefined
      else this.#fail(new Error("ended"))
    }
    this.socket.destroy()
  }

  /** The answer is over. Only a connection on which nothing is left over in either direction is kept. */
  #finish(): void {
    // Detached, or dropped by whoever heard of the end.
    if (this.#exchanging === undefined) return
    this.#exchanging = undefined
    // Whoever took the answer may have stopped reading in its middle, and the rest had come already.
    if (this.socket.isPaused()) this.socket.resume()
    if (this.#parser.keepsAlive && this.#isSent && this.isOpen) this.#owner.idled(this)
    else this.socket.destroy()
  }

  #fail(error: Error): void {
    const exchanging = this.#exchanging
    this.#exchanging = undefined
    this.socket.destroy()
    exchanging?.failed(error)
  }
}
