import {
  constants,
  createServer,
  Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from "node:http2"
import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import { ipKey, PROBLEM_CONTENT_TYPE, problemBody } from "sluice/http"
import { ClientCounts } from "../front/client-counts.js"
import { Http2Answer } from "../front/http2-answer.js"
import { gatewayProblem } from "../front/problems.js"
import { Http2Connection, sayGoodbye } from "./http2-connection.js"
import { Http2Socket } from "./http2-socket.js"
import type { GatewayListenerOptions } from "./listen.js"

/** The connections of a port whose clients chose HTTP/2. */
export interface Http2Side {
  take(socket: TLSSocket): void
  /** Tells clients to go elsewhere; what is under way goes on. */
  sayGoodbye(lastCallMs: number): void
}

/** Requests at once on one connection. */
const MAX_STREAMS_PER_CONNECTION = 250
/** How often connections are looked at, for answers that nobody takes. */
const LOOK_MS = 250
/** As long as a body may stall where nothing else is said. */
const ANSWER_IDLE_MS = 60_000

export function createHttp2(options: GatewayListenerOptions): Http2Side {
  const { gateway, headTimeoutMs, keepAliveMs, maxHeaderBytes, answerIdleMs = ANSWER_IDLE_MS } = options
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
    // In MB, of frames and headers that wait to be sent or read. A body waits in its stream.
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
    else refuseHead(request, response)
  }
  server.on("request", handle)
  server.on("checkContinue", handle)
  server.on("checkExpectation", handle)
  return {
    take(socket) {
      taken = new Http2Socket(socket)
      // The session is made before this returns.
      server.emit("connection", taken)
    },
    sayGoodbye(lastCallMs) {
      lastCall = lastCallMs
      for (const { session } of connections) sayGoodbye(session, lastCallMs)
    },
  }
}

/**
 * Requests whose socket is the client's own. That of their session is made by `node:http2` for a stream that is no socket, and
 * knows no address.
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

/** Clients are told how much is taken, and not held to it by Node before they have said that they know. */
function headBytes({ rawHeaders }: Http2ServerRequest): number {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

function refuseHead(request: Http2ServerRequest, response: Http2ServerResponse): void {
  const problem = gatewayProblem("HEAD_TOO_LARGE")
  const body = problemBody(problem)
  const answer = { status: problem.status, contentType: PROBLEM_CONTENT_TYPE, body, isLast: false }
  new Http2Answer(request, response).whole({ ...answer, bytes: Buffer.byteLength(body) }, undefined)
}

/**
 * Requests under way on all HTTP/2 connections of a port. Each takes about 11 KB, whether it waits for its body or for room to
 * be answered. More than the upstreams take, with those that may wait for them.
 */
const MAX_STREAMS = 16_384
/** Of one client. */
const MAX_STREAMS_EACH = MAX_STREAMS / 2

/** Bounds what all HTTP/2 clients of a port can make it hold together. */
class Http2Streams {
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
