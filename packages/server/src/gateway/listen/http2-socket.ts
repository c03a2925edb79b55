// Carries the bytes of one HTTP/2 connection between TLS and `node:http2`.
//
// `node:http2` takes over the handle of a socket that it is given, and stops reading from it once it has sent GOAWAY for a
// mistake of the client. From then on nobody notices that the client hangs up. It also waits without end for a client that
// receives nothing, or that does not close its side. With a stream of our own in between, all three are seen. That costs a
// request 5 to 15 µs of processor time, and 50 µs for each 100 KB of its answer (Node 20, h2load on loopback).

import { Duplex } from "node:stream"
import type { TLSSocket } from "node:tls"

/** Bytes are handed on in pieces of this size, to see that a slow client receives some of them. */
const PIECE_BYTES = 65_536
/** How long a client may take to close its side after ours is closed. */
const LINGER_MS = 1_000

/** How long `node:http2` may have stopped reading, with nothing to send, before it counts as done with the client. */
const UNREAD_MS = 20

type Done = (error?: Error | null) => void

export class Http2Socket extends Duplex {
  readonly #tls: TLSSocket
  /** When the client last received some of what is being sent, by `performance.now()`. Undefined when nothing is. */
  #sendingSince: number | undefined
  #linger: NodeJS.Timeout | undefined
  #doubt: NodeJS.Timeout | undefined
  /** How often reading has gone on. */
  #resumed = 0

  constructor(tls: TLSSocket) {
    super()
    this.#tls = tls
    tls.on("data", (bytes: Buffer) => {
      if (!this.push(bytes)) tls.pause()
    })
    // A client that hangs up has given up all it asked for.
    tls.on("end", () => this.destroy())
    tls.on("close", () => this.destroy())
    tls.on("error", () => this.destroy())
    this.on("pause", () => this.#suspect())
    this.on("resume", () => this.#resumed++)
  }

  /** The socket below. */
  get tls(): TLSSocket {
    return this.#tls
  }

  /** For how long the client has received nothing of what is being sent. */
  stalledMs(now: number): number {
    return this.#sendingSince === undefined ? 0 : now - this.#sendingSince
  }

  /** Whether `node:http2` has stopped reading and has nothing to send: for a moment, or because it is done with the client. */
  get #isUnread(): boolean {
    return !this.destroyed && this.isPaused() && this.#sendingSince === undefined
  }

  /**
   * Emits `unread` unless reading goes on. `node:http2` stops for as long as it writes, and goes on within a turn of the event
   * loop after that. It stops for good when it has sent GOAWAY for an error.
   */
  #suspect(): void {
    if (this.#doubt !== undefined || !this.#isUnread) return
    const resumed = this.#resumed
    const decide = (): void => {
      this.#doubt = undefined
      if (this.#resumed !== resumed) this.#suspect()
      else if (this.#isUnread) this.emit("unread")
    }
    // Where the event loop is late, the timer is too, and reading may be about to go on.
    this.#doubt = setTimeout(() => setImmediate(() => setImmediate(decide)), UNREAD_MS)
  }

  override _read(): void {
    this.#tls.resume()
  }

  override _write(bytes: Buffer, _encoding: string, done: Done): void {
    this.#send(bytes, done)
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: Done): void {
    // The head of a frame comes apart from what is in it: together they are one record of TLS, and cost half as much.
    this.#send(Buffer.concat(chunks.map(({ chunk }) => chunk)), done)
  }

  override _final(done: Done): void {
    this.#linger = setTimeout(() => this.destroy(), LINGER_MS)
    this.#tls.end(() => done())
  }

  override _destroy(error: Error | null, done: Done): void {
    clearTimeout(this.#linger)
    clearTimeout(this.#doubt)
    this.#sendingSince = undefined
    this.#tls.destroy()
    done(error)
  }

  #send(bytes: Buffer, done: Done): void {
    this.#sendingSince = performance.now()
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      const isLast = start + PIECE_BYTES >= bytes.length
      this.#tls.write(bytes.subarray(start, start + PIECE_BYTES), (error) => {
        this.#sendingSince = isLast ? undefined : performance.now()
        if (!isLast) return
        done(error)
        this.#suspect()
      })
    }
  }
}
