import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2"
import type { TLSSocket } from "node:tls"
import { sayGoodbye } from "./http2-goodbye.js"
import type { GatewayListenerOptions } from "./listen.js"

/** The connections of a port whose clients chose HTTP/2. */
export interface Http2Side {
  take(socket: TLSSocket): void
  /** Tells clients to go elsewhere; what is under way goes on. */
  sayGoodbye(lastCallMs: number): void
}

/** Requests at once on one connection. */
const MOST_STREAMS = 250

export function createHttp2(options: GatewayListenerOptions): Http2Side {
  const { gateway, headTimeoutMs, keepAliveMs, maxHeaderBytes } = options
  const sessions = new Set<ServerHttp2Session>()
  let lastCall: number | undefined
  const server = createServer({
    settings: { enablePush: false, maxConcurrentStreams: MOST_STREAMS, maxHeaderListSize: maxHeaderBytes },
    maxHeaderListPairs: 128,
    maxSettings: 16,
    maxOutstandingPings: 4,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    // In MB, of frames and headers that wait to be sent or read. A body waits in its stream.
    maxSessionMemory: 16,
    unknownProtocolTimeout: 1_000,
  })
  server.on("session", (session) => {
    sessions.add(session)
    session.on("close", () => sessions.delete(session))
    // What clients do wrong in HTTP/2 ends their connection, and is no concern of ours.
    session.on("error", () => {})
    closeWhenIdle(session, headTimeoutMs, keepAliveMs)
    if (lastCall !== undefined) sayGoodbye(session, lastCall)
  })
  server.on("sessionError", () => {})
  const handle = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    if (headBytes(request) <= maxHeaderBytes) gateway.handle(request, response)
    else response.writeHead(431).end()
  }
  server.on("request", handle)
  server.on("checkContinue", handle)
  return {
    take: (socket) => void server.emit("connection", socket),
    sayGoodbye(lastCallMs) {
      lastCall = lastCallMs
      for (const session of sessions) sayGoodbye(session, lastCallMs)
    },
  }
}

/** Clients are told how much is taken, and not held to it by Node before they have said that they know. */
function headBytes({ rawHeaders }: Http2ServerRequest): number {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

/** Who connects has to say something soon, and who asks for nothing for long has to go. */
function closeWhenIdle(session: ServerHttp2Session, headTimeoutMs: number, keepAliveMs: number): void {
  let streams = 0
  let isKnown = false
  session.setTimeout(headTimeoutMs, () => {
    if (!isKnown) session.destroy()
    else if (streams === 0 && !session.closed) session.close()
  })
  session.once("remoteSettings", () => {
    isKnown = true
    session.setTimeout(keepAliveMs)
  })
  session.on("stream", (stream) => {
    streams++
    // What goes wrong with a stream is told by its end.
    stream.on("error", () => {})
    stream.on("close", () => {
      streams--
    })
  })
}
