import {
  constants,
  createServer,
  Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from "node:http2"
import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import { ipKey } from "sluice/http"
import { ClientCounts } from "../front/client-counts.js"
import type { Gateway } from "../front/gateway.js"
import { Http2Answer } from "../front/http2-answer.js"
import { problemAnswer } from "../front/problems.js"
import { Http2Connection, sayGoodbye } from "./http2-connection.js"
import { Http2Socket } from "./http2-socket.js"

/** The connections of a port whose clients chose HTTP/2. */
export interface Http2Side {
  take(socket: TLSSocket): void
  /** Sends GOAWAY to all clients. Requests under way finish. */
  sayGoodbye(lastCallMs: number): void
}

export interface Http2SideOptions {
  readonly gateway: Pick<Gateway, "handleHttp2">
  /** How long the head of a request may take to arrive. 0 means for ever. */
  readonly headTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  readonly maxHeaderBytes: number
  /** How long a client may receive nothing of an answer that is ready. */
  readonly answerIdleMs: number
}

/** The most concurrent requests on one connection. */
const MAX_STREAMS_PER_CONNECTION = 250
/** Interval of the check for answers that a client does not receive. */
const LOOK_MS = 250

export function createHttp2(options: Http2SideOptions): Http2Side {
  const { gateway, headTimeoutMs, keepAliveMs, maxHeaderBytes, answerIdleMs } = options
  const patience = { headTimeoutMs, keepAliveMs, answerIdleMs }
  const connections = new Set<Http2Connection>()
  const peers = new WeakMap<Http2Session, Socket>()
  const streams = new Http2Streams()
  let sweeper: NodeJS.Timeout | undefined
  let lastCall: number | undefined
  let taken: Http2Socket | undefined
  const server = createServer({
    settings: {
      enablePush: false,
      maxConcurrentStreams: MAX_STREAMS_PER_CONNECTION,
      maxHeaderListSize: maxHeaderBytes,
    },
    maxHeaderListPairs: 128,
    maxSettings: 16,
    maxOutstandingPings: 4,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    // In MB, for frames and headers that wait to be sent or read. Bodies wait in their streams.
    maxSessionMemory: 16,
    unknownProtocolTimeout: 1_000,
    Http2ServerRequest: requestsOf(peers),
  })
  const sweep = (): void => {
    const now = performance.now()
    for (const connection of connections) connection.look(now)
  }
  server.on("session", (session) => {
    const socket = taken as Http2Socket
    const connection = new Http2Connection(session, socket, patience)
    peers.set(session, socket.tls)
    connections.add(connection)
    sweeper ??= setInterval(sweep, LOOK_MS).unref()
    socket.on("close", () => {
      connections.delete(connection)
      if (connections.size > 0) return
      clearInterval(sweeper)
      sweeper = undefined
    })
    if (lastCall !== undefined) sayGoodbye(session, lastCall)
  })
  server.on("sessionError", () => {})
  const handle = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    if (!streams.admit(request)) return
    if (headBytes(request) <= maxHeaderBytes) gateway.handleHttp2(request, response)
    else new Http2Answer(request, response).whole(problemAnswer("HEAD_TOO_LARGE"), [])
  }
  server.on("request", handle)
  server.on("checkContinue", handle)
  server.on("checkExpectation", handle)
  return {
    take(socket) {
      taken = new Http2Socket(socket)
      // node:http2 creates the session before this call returns.
      server.emit("connection", taken)
    },
    sayGoodbye(lastCallMs) {
      lastCall = lastCallMs
      for (const { session } of connections) sayGoodbye(session, lastCallMs)
    },
  }
}

/**
 * A request class whose `socket` is the client's TLS socket. The one that node:http2 makes for a stream that is not a socket has
 * no address.
 */
function requestsOf(peers: WeakMap<Http2Session, Socket>): typeof Http2ServerRequest {
  class PeerRequest extends Http2ServerRequest {}
  Object.defineProperty(PeerRequest.prototype, "socket", {
    get(this: Http2ServerRequest) {
      const { session } = this.stream
      return session === undefined ? undefined : peers.get(session)
    },
  })
  return PeerRequest
}

/** The size of a head. Node enforces the limit only after the client has acknowledged the settings. */
function headBytes({ rawHeaders }: Http2ServerRequest): number {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

/**
 * Requests under way on all HTTP/2 connections of a port. Each holds about 11 KB. The number is higher than what the upstreams
 * take together with the requests that may wait for them.
 */
const MAX_STREAMS = 16_384
/** The same for one client. */
const MAX_STREAMS_EACH = MAX_STREAMS / 2

/** Bounds the requests of all HTTP/2 clients of a port together. */
class Http2Streams {
  readonly #clients = new ClientCounts(MAX_STREAMS_EACH)
  #open = 0

  /** Returns false for a request beyond the bound, which it refuses with REFUSED_STREAM: the client may send it again. */
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
