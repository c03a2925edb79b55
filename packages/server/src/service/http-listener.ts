import { once } from "node:events"
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http"
import { Server as NetServer, type Socket } from "node:net"
import { type DirectAnswer, DirectLanes } from "../http1/direct-lane.js"
import { divert } from "../http1/divert.js"
import { beginRequest, serveSerially } from "../http1/serial-socket.js"
import { UnreadAnswers } from "../http1/unread-answers.js"
import { acceptWaiting, addressOf, type Listener, lastCall } from "../listener.js"

export interface HttpListenerOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly app: RequestListener
  /** Answers plain requests before node:http sees them. */
  readonly direct?: DirectAnswer | undefined
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs?: number
  /** The same for an app that takes uploads, and cuts slow bodies by itself. Default: `requestTimeoutMs`. */
  readonly uploadTimeoutMs?: number
  /** How long a client may leave an answer unread. */
  readonly answerTimeoutMs?: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs?: number
  readonly maxHeaderBytes?: number
  readonly maxConnections?: number
}

const MOST_HEADER_BYTES = 16_384
const KEEP_ALIVE_MS = 65_000
const ANSWER_TIMEOUT_MS = 30_000
/** How long `close` gives a client that believes its idle connection to be open. A request may be on its way. */
const LAST_CALL_MS = 500

/** Serves HTTP/1.1. Slow clients are cut, and closing drops no request. */
export async function startHttp(options: HttpListenerOptions): Promise<Listener> {
  const { host, port, app, requestTimeoutMs = 10_000, keepAliveMs = KEEP_ALIVE_MS } = options
  // A client that sends a byte now and then must not hold a connection for ever.
  const server = createServer({
    headersTimeout: requestTimeoutMs,
    requestTimeout: options.uploadTimeoutMs ?? requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: options.maxHeaderBytes ?? MOST_HEADER_BYTES,
    // Small answers must not wait for more.
    noDelay: true,
  })
  server.maxConnections = options.maxConnections ?? 10_000
  const sockets = new Set<Socket>()
  const unread = new UnreadAnswers(options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS)
  server.on("connection", (socket) => {
    sockets.add(socket)
    unread.watch(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  const underWay = new Set<ServerResponse>()
  let closed: Promise<void> | undefined
  serveSerially(server)
  const onRequest: RequestListener = (request, response) => {
    beginRequest(request, response)
    if (closed !== undefined) endConnectionWith(response)
    underWay.add(response)
    response.on("close", () => underWay.delete(response))
    app(request, response)
  }
  // An expectation that is unknown may be ignored (RFC 9110, 10.1.1).
  server.on("request", onRequest).on("checkExpectation", onRequest)
  const lanes = options.direct && openLanes(server, options.direct, options)
  server.listen(port, host)
  await once(server, "listening")
  return {
    address: addressOf(server),
    close(deadlineMs = 10_000) {
      closed ??= close({ server, sockets, unread, underWay, lanes }, deadlineMs)
      return closed
    },
  }
}

/** Puts the direct lanes between the socket and node:http. */
function openLanes(server: Server, answer: DirectAnswer, options: HttpListenerOptions): DirectLanes {
  const { maxHeaderBytes = MOST_HEADER_BYTES, keepAliveMs = KEEP_ALIVE_MS } = options
  const lanes = new DirectLanes({ answer, maxHeaderBytes, keepAliveMs })
  divert(server, (socket, toHttp) => lanes.open(socket, toHttp))
  return lanes
}

interface Open {
  readonly server: Server
  readonly sockets: ReadonlySet<Socket>
  readonly unread: UnreadAnswers
  readonly underWay: ReadonlySet<ServerResponse>
  readonly lanes: DirectLanes | undefined
}

async function close({ server, sockets, unread, underWay, lanes }: Open, deadlineMs: number): Promise<void> {
  for (const response of underWay) endConnectionWith(response)
  lanes?.close()
  await acceptWaiting(server, deadlineMs)
  const closed = once(server, "close")
  // That of net only: the one of http also ends idle connections, on which the next request may just be arriving.
  NetServer.prototype.close.call(server)
  const ending = lastCall(Math.min(LAST_CALL_MS, deadlineMs), () => {
    server.closeIdleConnections()
    lanes?.endIdle()
    // Browsers connect ahead of need, and Node takes a connection on which nothing was ever asked for a busy one.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  })
  const hangUp = setTimeout(() => {
    server.closeAllConnections()
    lanes?.destroy()
  }, deadlineMs)
  await closed
  unread.stop()
  clearTimeout(ending)
  clearTimeout(hangUp)
  // Stops the timer that looks for slow clients.
  server.close()
}

/** Without this the client would keep the connection for its next request, and the server would wait for it. */
function endConnectionWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("connection", "close")
}
