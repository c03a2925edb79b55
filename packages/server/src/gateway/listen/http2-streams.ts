import { constants, type Http2ServerRequest } from "node:http2"
import { ipKey } from "sluice/http"
import { ClientCounts } from "../front/client-counts.js"

/**
 * Requests under way on all HTTP/2 connections of a port. Each takes about 11 KB, whether it waits for its body or for room to
 * be answered. More than the upstreams take, with those that may wait for them.
 */
const MAX_STREAMS = 16_384
/** Of one client. */
const MAX_STREAMS_EACH = MAX_STREAMS / 2

/** Bounds what all HTTP/2 clients of a port can make it hold together. */
export class Http2Streams {
  readonly #clients = new ClientCounts(MAX_STREAMS_EACH)
  #open = 0

  /** Refuses a request that is one too many: its client may send it again. Returns whether it may go on. */
  admit({ socket, stream }: Http2ServerRequest): boolean {
    // A connection that has just ended has no socket.
    const client = ipKey(socket?.remoteAddress ?? "") ?? ""
    if (this.#open >= MAX_STREAMS || !this.#clients.enter(client)) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
      return false
    }
    this.#open++
    stream.once("close", () => {
      this.#open--
      this.#clients.leave(client)
    })
    return true
  }
}
