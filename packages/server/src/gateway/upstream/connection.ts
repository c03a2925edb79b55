// One keep-alive connection to an upstream. It has one exchange at a time.

import type { Socket } from "node:net"
import { type AnswerHead, AnswerParser, type AnswerReader, type Asked } from "./answer-parser.js"
import type { ClientShare } from "./client-shares.js"

/** Receives the answer of one exchange, and what happens to its connection. */
export interface ExchangeListener extends AnswerReader {
  /** All bytes received so far are processed: flush what was gathered from them. */
  paused(): void
  /** The socket accepts more bytes of the request. */
  drained(): void
  /** The answer will not be completed. The error is an `InvalidMessage` when it is not valid HTTP. */
  failed(error: Error): void
}

/** Keeps idle connections; the pool. */
export interface ConnectionOwner {
  idled(connection: Connection): void
  closed(connection: Connection): void
}

export class Connection {
  readonly socket: Socket
  /** Number of exchanges begun. */
  uses = 0
  /** When it became idle, on the clock of `performance.now()`. */
  idleSince = 0
  /** The client that uses it now. */
  holder: ClientShare | undefined
  /** How long the upstream keeps it, by its `Keep-Alive` header. */
  keptMs = Number.POSITIVE_INFINITY
  readonly #owner: ConnectionOwner
  readonly #parser: AnswerParser
  #listener: ExchangeListener | undefined
  #isSent = true

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.socket = socket
    this.#owner = owner
    this.#parser = new AnswerParser({
      interim: (head) => this.#listener?.interim(head),
      head: (head) => this.#head(head),
      body: (bytes) => this.#listener?.body(bytes),
      ended: (trailers) => this.#listener?.ended(trailers),
      switched: (head, rest) => this.#listener?.switched(head, rest),
    })
    socket.on("drain", this.#onDrain).on("end", this.#onEnd)
    socket.on("error", (error) => this.#fail(error))
    socket.on("close", () => {
      this.#fail(new Error("closed"))
      owner.closed(this)
    })
  }

  readonly #onDrain = (): void => this.#listener?.drained()
  readonly #onEnd = (): void => this.#end()

  get isOpen(): boolean {
    return this.socket.writable && !this.socket.readableEnded
  }

  /** Whether any byte of the answer to the current request has arrived. */
  get hasAnswerBytes(): boolean {
    return this.#parser.hasBytes
  }

  /** Begins an exchange. The caller writes the request and then calls `sent`. */
  begin(listener: ExchangeListener, asked: Asked): void {
    this.uses++
    this.#listener = listener
    this.#isSent = false
    this.#parser.begin(asked)
  }

  write(data: string | Buffer): boolean {
    return typeof data === "string" ? this.socket.write(data, "latin1") : this.socket.write(data)
  }

  /** The caller has written the whole request. */
  sent(): void {
    this.#isSent = true
  }

  /** Abandons the exchange. The connection closes: its late answer could be mistaken for the next one. */
  drop(): void {
    this.#listener = undefined
    this.socket.destroy()
  }

  /** Releases the socket of a connection that has switched to another protocol. */
  detach(): Socket {
    this.#listener = undefined
    const { socket } = this
    return socket.off("data", this.read).off("drain", this.#onDrain).off("end", this.#onEnd)
  }

  #head(head: AnswerHead): void {
    const timeout = head.keepAlive === "" ? null : /timeout=(\d{1,6})/i.exec(head.keepAlive)
    if (timeout !== null) this.keptMs = Number(timeout[1]) * 1_000
    this.#listener?.head(head)
  }

  /** Processes bytes from the socket. Keeps no reference to them. */
  readonly read = (bytes: Buffer): void => {
    const listener = this.#listener
    if (listener === undefined) {
      // Bytes without a request: the next request would take them for its answer.
      this.socket.destroy()
      return
    }
    try {
      this.#parser.read(bytes)
      // The exchange may have been dropped meanwhile.
      if (!this.#parser.isOver && this.#listener === listener) listener.paused()
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    if (this.#parser.isOver) this.#finish()
  }

  #end(): void {
    if (this.#listener !== undefined) {
      if (this.#parser.end()) this.#listener = undefined
      else this.#fail(new Error("ended"))
    }
    this.socket.destroy()
  }

  /** The answer is complete. The connection is reused only if nothing is left to send or to read. */
  #finish(): void {
    // Detached or dropped when the end was reported.
    if (this.#listener === undefined) return
    this.#listener = undefined
    // The reader may have paused the socket while the rest of the answer was already in memory.
    if (this.socket.isPaused()) this.socket.resume()
    if (this.#parser.keepsAlive && this.#isSent && this.isOpen) this.#owner.idled(this)
    else this.socket.destroy()
  }

  #fail(error: Error): void {
    const listener = this.#listener
    this.#listener = undefined
    this.socket.destroy()
    listener?.failed(error)
  }
}
