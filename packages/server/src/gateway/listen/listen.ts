// The gateway's port: HTTP/1.1, or TLS with HTTP/1.1 and HTTP/2 as the client likes. Everything a client can make it hold is
// bounded, and closing drops no request.

import { once } from "node:events"
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https"
import { Server as NetServer, type Socket } from "node:net"
import type { TLSSocket } from "node:tls"
import type { Certificate } from "../../certificates.js"
import { divert } from "../../http1/divert.js"
import { UnreadAnswers } from "../../http1/unread-answers.js"
import { acceptWaiting, addressOf, type Listener, lastCall } from "../../listener.js"
import type { Gateway } from "../front/gateway.js"
import { DirectLanes } from "./direct-lane.js"
import { createHttp2, type Http2Side } from "./listen-http2.js"
import { checkedByGateway, wireHttp1 } from "./wire-http1.js"

export interface GatewayListenerOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** A socket that listens already, in place of host and port: one that outlives this process. */
  readonly fd?: number | undefined
  readonly gateway: Gateway
  /** Whether plain requests go past `node:http`. Default: true. */
  readonly direct?: boolean | undefined
  /** Serves TLS. */
  readonly certificate?: Certificate | undefined
  /** Whether clients that speak TLS are offered HTTP/2. */
  readonly http2: boolean
  /** How long the head of a request may take to arrive; 0 is for ever. */
  readonly headTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
  readonly maxHeaderBytes: number
  readonly maxConnections: number
  /** How long a client may receive nothing of an answer that is there. Default: one minute. */
  readonly answerIdleMs?: number | undefined
}

export interface GatewayListener extends Listener {
  /** For connections that are made from now on. */
  setCertificate(certificate: Certificate): void
}

type Http1Server = HttpServer | HttpsServer

/** Where heads may take for ever. Node's own. */
const LONGEST_HANDSHAKE_MS = 120_000
/** How long `close` gives a client that believes its idle connection to be open. A request may be on its way. */
const LAST_CALL_MS = 500
const ANSWER_IDLE_MS = 60_000

export async function listen(options: GatewayListenerOptions): Promise<GatewayListener> {
  const { certificate, maxConnections, host, port, fd } = options
  const server = certificate === undefined ? createServer(bounds(options)) : createHttps(options, certificate)
  server.maxConnections = maxConnections
  const served = new Port(server, options.gateway, new UnreadAnswers(options.answerIdleMs ?? ANSWER_IDLE_MS))
  if (options.direct !== false) served.openLanes(new DirectLanes(options))
  if (certificate !== undefined && options.http2) served.offerHttp2(createHttp2(options))
  server.listen(fd === undefined ? { host, port } : { fd })
  await once(server, "listening")
  let closed: Promise<void> | undefined
  return {
    address: addressOf(server),
    close(deadlineMs = 10_000) {
      closed ??= served.close(deadlineMs)
      return closed
    },
    setCertificate(next) {
      ;(server as HttpsServer).setSecureContext(next)
    },
  }
}

function bounds(options: GatewayListenerOptions) {
  return {
    headersTimeout: options.headTimeoutMs,
    // A body may take as long as it goes on; the gateway's own deadlines see to that.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1_000, options.headTimeoutMs || 1_000),
    keepAliveTimeout: options.keepAliveMs,
    maxHeaderSize: options.maxHeaderBytes,
    ...checkedByGateway,
    noDelay: true,
  }
}

function createHttps(options: GatewayListenerOptions, certificate: Certificate): HttpsServer {
  return createHttpsServer({
    ...bounds(options),
    ...certificate,
    ALPNProtocols: options.http2 ? ["h2", "http/1.1"] : ["http/1.1"],
    handshakeTimeout: options.headTimeoutMs || LONGEST_HANDSHAKE_MS,
  })
}

class Port {
  readonly #server: Http1Server
  readonly #gateway: Gateway
  /** All there are: of either protocol, and those that were upgraded. */
  readonly #sockets = new Set<Socket>()
  readonly #unread: UnreadAnswers
  /** The last answer on each connection. A map costs a request less than a listener for its end would. */
  readonly #answers = new Map<Socket, ServerResponse>()
  #http2: Http2Side | undefined
  #lanes: DirectLanes | undefined
  #isClosing = false

  constructor(server: Http1Server, gateway: Gateway, unread: UnreadAnswers) {
    this.#unread = unread
    this.#server = server
    this.#gateway = gateway
    wireHttp1(server, gateway, (request, response) => this.#handle(request, response))
    server.on("connection", (socket: Socket) => this.#watch(socket))
    // What is written goes through this, and not through the socket below it.
    server.on("secureConnection", (socket: TLSSocket) => unread.watch(socket))
    // Who cannot agree on TLS hears so from TLS.
    server.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy())
  }

  /** Puts them between the sockets and `node:http`. */
  openLanes(lanes: DirectLanes): void {
    this.#lanes = lanes
    divert(this.#server, (socket, toHttp1) => {
      const moved = lanes.open(socket, toHttp1)
      if (moved !== socket) this.#watch(moved)
    })
  }

  offerHttp2(http2: Http2Side): void {
    this.#http2 = http2
    divert(this.#server, (socket, toHttp1) => {
      if ((socket as TLSSocket).alpnProtocol === "h2") http2.take(socket as TLSSocket)
      else toHttp1()
    })
  }

  #watch(socket: Socket): void {
    // The same socket comes again after an upgrade that nobody follows.
    if (this.#sockets.has(socket)) return
    this.#sockets.add(socket)
    this.#unread.watch(socket)
    socket.on("close", () => this.#sockets.delete(socket))
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    if (this.#isClosing) response.shouldKeepAlive = false
    else if (!this.#answers.has(socket)) socket.once("close", () => this.#answers.delete(socket))
    this.#answers.set(socket, response)
    this.#gateway.handle(request, response)
  }

  async close(deadlineMs: number): Promise<void> {
    const server = this.#server
    const lastCallMs = Math.min(LAST_CALL_MS, deadlineMs)
    this.#isClosing = true
    // Without this clients would keep their connections for the next request, and we would wait for it.
    for (const response of this.#answers.values()) if (!response.headersSent) response.shouldKeepAlive = false
    // For those whose answer had begun already, and did not say so.
    server.keepAliveTimeout = lastCallMs
    this.#http2?.sayGoodbye(lastCallMs)
    this.#lanes?.close(lastCallMs)
    await acceptWaiting(server, deadlineMs)
    const closed = once(server, "close")
    // That of net only: the one of http also ends idle connections, on which the next request may just be arriving.
    NetServer.prototype.close.call(server)
    const ending = lastCall(lastCallMs, () => {
      server.closeIdleConnections()
      // Node takes a connection on which nothing was ever asked for a busy one.
      for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
    })
    const hangUp = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, deadlineMs)
    await closed
    this.#unread.stop()
    clearTimeout(ending)
    clearTimeout(hangUp)
    // Stops the timer that looks for slow clients.
    server.close()
  }
}
