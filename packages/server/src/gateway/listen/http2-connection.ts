// The deadlines of one HTTP/2 connection.

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2"
import type { Http2Socket } from "./http2-socket.js"

export interface Http2Patience {
  /** How long a client may take to send its settings; 0 is for ever. */
  readonly headTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  /** How long a client may receive nothing of an answer that is ready. */
  readonly answerIdleMs: number
}

/** An answer that waits for the client's flow-control window. */
interface Blocked {
  readonly since: number
  readonly unsent: number
}

export class Http2Connection {
  readonly session: ServerHttp2Session
  readonly #socket: Http2Socket
  readonly #patience: Http2Patience
  readonly #streams = new Map<ServerHttp2Stream, Blocked | undefined>()
  #isKnown = false

  constructor(session: ServerHttp2Session, socket: Http2Socket, patience: Http2Patience) {
    this.session = session
    this.#socket = socket
    this.#patience = patience
    // A protocol error of the client ends its connection; there is nothing to report.
    session.on("error", () => {})
    // `node:http2` has sent GOAWAY for an error. RFC 9113, 5.4.1: then the connection is closed.
    socket.on("unread", () => this.#end())
    session.setTimeout(patience.headTimeoutMs, () => this.#idle())
    session.once("remoteSettings", () => {
      this.#isKnown = true
      session.setTimeout(patience.keepAliveMs)
    })
    session.on("stream", (stream) => {
      this.#streams.set(stream, undefined)
      // The end of a stream reports its errors.
      stream.on("error", () => {})
      stream.on("close", () => this.#streams.delete(stream))
    })
  }

  /** Checks the deadlines. Called at an interval. */
  look(now: number): void {
    if (this.#socket.stalledMs(now) >= this.#patience.answerIdleMs) this.#end()
    else for (const [stream, blocked] of this.#streams) this.#lookAt(stream, blocked, now)
  }

  /** Cancels a complete answer for which the client opens no window. */
  #lookAt(stream: ServerHttp2Stream, blocked: Blocked | undefined, now: number): void {
    const unsent = stream.writableLength
    if (!stream.writableEnded || unsent === 0) {
      if (blocked !== undefined) this.#streams.set(stream, undefined)
    } else if (blocked?.unsent !== unsent) this.#streams.set(stream, { since: now, unsent })
    else if (now - blocked.since >= this.#patience.answerIdleMs) stream.close(constants.NGHTTP2_CANCEL)
  }

  #end(): void {
    this.session.destroy()
    this.#socket.destroy()
  }

  /** The connection has been silent for the time-out. */
  #idle(): void {
    const { session } = this
    if (!this.#isKnown) session.destroy()
    else if (this.#streams.size === 0 && !session.closed) session.close()
  }
}

const MAX_STREAM_ID = 2 ** 31 - 1

/**
 * Sends GOAWAY in two steps, as RFC 9113 advises: with one step a client could lose requests that it sends meanwhile. The client
 * has seen the first step when it answers the ping behind it.
 */
export function sayGoodbye(session: ServerHttp2Session, lastCallMs: number): void {
  if (session.closed || session.destroyed) return
  const close = (): void => {
    clearTimeout(timer)
    if (!session.closed && !session.destroyed) session.close()
  }
  const timer = setTimeout(close, lastCallMs)
  try {
    session.goaway(constants.NGHTTP2_NO_ERROR, MAX_STREAM_ID)
    session.ping(close)
  } catch {
    close()
  }
}
