// The control plane's port, on node:http.

import { once } from "node:events"
import { createServer, type RequestListener, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { UnreadAnswers } from "../../http1/unread-answers.js"
import { addressOf, drain, type Listener } from "../../listener.js"

export interface HttpListenerOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly app: RequestListener
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

/**
 * Requests of one connection under way at once. node:http starts every request that it has read, so a client that sends
 * thousands ahead would have thousands under way. Browsers send none ahead; a client that sends more than this is cut off.
 */
const MAX_PIPELINED = 8

/** Serves HTTP/1.1. Slow clients are cut off, and closing drops no request. */
export async function startHttp(options: HttpListenerOptions): Promise<Listener> {
  const { host, port, app, requestTimeoutMs = 10_000 } = options
  const server = createServer({
    headersTimeout: requestTimeoutMs,
    requestTimeout: options.uploadTimeoutMs ?? requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
    keepAliveTimeout: options.keepAliveMs ?? 65_000,
    maxHeaderSize: options.maxHeaderBytes ?? 16_384,
    // Small answers do not wait for more.
    noDelay: true,
    // Refused below: node:http would read on behind the refusal.
    requireHostHeader: false,
  })
  server.maxConnections = options.maxConnections ?? 10_000
  const unread = new UnreadAnswers(options.answerTimeoutMs ?? 30_000)
  /** The answers under way on each connection. */
  const underWay = new Map<Duplex, Set<ServerResponse>>()
  const refused = new WeakSet<Duplex>()
  let closed: Promise<void> | undefined
  server.on("connection", (socket: Socket) => {
    underWay.set(socket, new Set())
    unread.watch(socket)
    socket.on("close", () => underWay.delete(socket))
  })
  const onRequest: RequestListener = (request, response) => {
    const { socket } = request
    const responses = underWay.get(socket)
    // Nothing behind a refusal is read.
    if (responses === undefined || refused.has(socket)) return
    if (responses.size >= MAX_PIPELINED) {
      refused.add(socket)
      socket.destroy()
      return
    }
    responses.add(response)
    response.on("close", () => responses.delete(response))
    if (request.headers.host === undefined && request.httpVersion !== "1.0") {
      refused.add(socket)
      response.writeHead(400, { connection: "close" }).end()
      return
    }
    if (closed !== undefined) endConnectionWith(response)
    app(request, response)
  }
  // An expectation that is unknown may be ignored (RFC 9110, 10.1.1).
  server.on("request", onRequest).on("checkExpectation", onRequest)
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // A refusal must not be taken for the answer to a request that is under way.
    const isAnswering = (underWay.get(socket)?.size ?? 0) > 0
    if (isAnswering || !socket.writable || error.code === "ECONNRESET") socket.destroy()
    else socket.end(`HTTP/1.1 ${refusal(error.code)}\r\nConnection: close\r\n\r\n`, () => socket.destroy())
  })
  server.listen(port, host)
  await once(server, "listening")
  const close = async (deadlineMs: number): Promise<void> => {
    for (const responses of underWay.values()) for (const response of responses) endConnectionWith(response)
    await drain(server, deadlineMs, {
      endIdle: () => {
        // Browsers connect ahead of need, and node:http takes a connection on which nothing was ever asked for a busy one.
        for (const [socket, responses] of underWay) if (responses.size === 0) socket.destroy()
      },
      cut: () => server.closeAllConnections(),
    })
    unread.stop()
    // Stops the timer of node:http that looks for slow clients.
    server.close()
  }
  return {
    address: addressOf(server),
    close(deadlineMs = 10_000) {
      closed ??= close(deadlineMs)
      return closed
    },
  }
}

function refusal(code: string | undefined): string {
  if (code === "HPE_HEADER_OVERFLOW") return "431 Request Header Fields Too Large"
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "408 Request Timeout" : "400 Bad Request"
}

/** Without this the client would keep the connection for its next request, and the server would wait for it. */
function endConnectionWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("connection", "close")
}
