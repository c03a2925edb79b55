// One client that speaks HTTP/2: how long it may be idle, and when it is given up.

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2"
import type { Http2Socket } from "./http2-socket.js"

export interface Http2Patience {
  /** How long a client may take to send its settings; 0 is for ever. */
  readonly headTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  /** How long a client may receive nothing of an answer that is there. */
  readonly answerIdleMs: number
}

/** An answer that waits until the client makes room for it. */
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
    // What clients do wrong in HTTP/2 ends their connection, and is no concern of ours.
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
      // What goes wrong with a stream is told by its end.
      stream.on("error", () => {})
      stream.on("close", () => this.#streams.delete(stream))
    })
  }

  /** Now and then. */
  look(now: number): void {
    if (this.#socket.stalledMs(now) >= this.#patience.answerIdleMs) this.#end()
    else for (const [stream, blocked] of this.#streams) this.#lookAt(stream, blocked, now)
  }

  /** Gives up an answer that is there as a whole, and that the client makes no room for. */
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

  /** Nothing has come or gone for long. */
  #idle(): void {
    const { session } = this
    if (!this.#isKnown) session.destroy()
    else if (this.#streams.size === 0 && !session.closed) session.close()
  }
}

const MAX_STREAM_ID = 2 ** 31 - 1

/**
 * Tells a client to go elsewhere, in two steps as RFC 9113 advises: one that is told only once may lose the requests that
 * crossed the message. It has seen the first when it answers the ping behind it.
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
