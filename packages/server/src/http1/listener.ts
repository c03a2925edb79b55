// A port that speaks HTTP/1.1, in clear or over TLS. Everything that a client can make it hold is bounded, and closing drops no
// request.

import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { createServer as createTlsServer, type SecureContextOptions, type TLSSocket } from "node:tls"
import { addressOf, drain, type Listener } from "../listener.js"
import { type ConnectionContext, Http1Connection, type Http1Handler, type Http1Limits } from "./connection.js"
import { UnreadAnswers } from "./unread-answers.js"

export interface Http1ListenerOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** A listening socket, instead of host and port. It may outlive this process. */
  readonly fd?: number | undefined
  readonly handler: Http1Handler
  readonly limits: Http1Limits
  readonly maxConnections: number
  /** How long a client may leave an answer unread. */
  readonly answerTimeoutMs: number
  /** Serves TLS. */
  readonly tls?: TlsSettings | undefined
  /** Called when the listener begins to close, with the time until it ends all connections. */
  readonly onClose?: ((deadlineMs: number) => void) | undefined
}

export interface TlsSettings extends SecureContextOptions {
  /** Takes the connections of clients that chose HTTP/2. Without it HTTP/2 is not offered. */
  readonly http2?: ((socket: TLSSocket) => void) | undefined
  readonly handshakeTimeoutMs: number
}

export interface Http1Listener extends Listener {
  /** Changes the certificate for connections that are made from now on. */
  setCertificate(certificate: SecureContextOptions): void
}

export async function listenHttp1(options: Http1ListenerOptions): Promise<Http1Listener> {
  const { host, port, fd, tls, maxConnections } = options
  const connections = new Http1Connections(options.handler, options.limits)
  const unread = new UnreadAnswers(options.answerTimeoutMs)
  /** All sockets: of HTTP/1.1, of HTTP/2, and those that were upgraded to another protocol. */
  const sockets = new Set<Socket>()
  const onConnection = (socket: Socket): void => {
    sockets.add(socket)
    unread.watch(socket)
    socket.on("close", () => sockets.delete(socket))
  }
  const server = tls === undefined ? createServer(SOCKETS) : createTls(tls, connections, unread)
  server.maxConnections = maxConnections
  server.on("connection", onConnection)
  if (tls === undefined) server.on("connection", (socket: Socket) => connections.accept(socket))
  server.listen(fd === undefined ? { host, port } : { fd })
  await once(server, "listening")
  let closed: Promise<void> | undefined
  const close = async (deadlineMs: number): Promise<void> => {
    connections.closeAfterNext()
    options.onClose?.(deadlineMs)
    await drain(server, deadlineMs, {
      endIdle: () => connections.endIdle(),
      cut: () => {
        for (const socket of sockets) socket.destroy()
      },
    })
    unread.stop()
  }
  return {
    address: addressOf(server),
    close(deadlineMs = 10_000) {
      closed ??= close(deadlineMs)
      return closed
    },
    setCertificate(certificate) {
      if ("setSecureContext" in server) server.setSecureContext(certificate)
    },
  }
}

/** A client may end its side before it gets its answer. Small answers are sent without delay. */
const SOCKETS = { allowHalfOpen: true, noDelay: true }

function createTls(
  { http2, handshakeTimeoutMs, ...certificate }: TlsSettings,
  connections: Http1Connections,
  unread: UnreadAnswers,
) {
  const ALPNProtocols = http2 === undefined ? ["http/1.1"] : ["h2", "http/1.1"]
  const server = createTlsServer({
    ...SOCKETS,
    ...certificate,
    ALPNProtocols,
    handshakeTimeout: handshakeTimeoutMs,
  })
  server.on("secureConnection", (socket) => {
    // Answers are written to this socket, not to the one below it.
    unread.watch(socket)
    if (socket.alpnProtocol === "h2") http2?.(socket)
    else connections.accept(socket)
  })
  // TLS itself reports a failed handshake to the client.
  server.on("tlsClientError", (_error, socket) => socket.destroy())
  return server satisfies Server
}

/** How often late clients are looked for, at most and at least. A quarter of the shortest deadline lies between. */
const MAX_SWEEP_MS = 250
const MIN_SWEEP_MS = 5

/** The HTTP/1.1 connections of a listener. Looks for clients that are late with one timer for all of them. */
export class Http1Connections {
  readonly #context: ConnectionContext
  readonly #connections = new Set<Http1Connection>()
  readonly #sweepMs: number
  #timer: NodeJS.Timeout | undefined
  #isClosing = false

  constructor(handler: Http1Handler, limits: Http1Limits) {
    const { keepAliveMs, headTimeoutMs, requestTimeoutMs } = limits
    const timeout = keepAliveMs === 0 ? "" : `Keep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`
    this.#context = { handler, limits, keepAliveLines: `Connection: keep-alive\r\n${timeout}` }
    const shortest = Math.min(...[keepAliveMs, headTimeoutMs, requestTimeoutMs].filter((ms) => ms > 0))
    this.#sweepMs = Math.max(MIN_SWEEP_MS, Math.min(MAX_SWEEP_MS, shortest / 4))
  }

  /** Serves a connection that was just accepted. */
  accept(socket: Socket): void {
    const connection = new Http1Connection(socket, this.#context)
    if (this.#isClosing) connection.closeAfterNext()
    this.#connections.add(connection)
    this.#timer ??= setInterval(() => this.#sweep(), this.#sweepMs).unref()
    socket.once("close", () => {
      this.#connections.delete(connection)
      if (this.#connections.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    })
  }

  /** From now on, the next answer on each connection announces that it is the last one. */
  closeAfterNext(): void {
    this.#isClosing = true
    for (const connection of this.#connections) connection.closeAfterNext()
  }

  /** Ends the connections that are idle. */
  endIdle(): void {
    for (const connection of this.#connections) if (connection.isIdle) connection.socket.destroy()
  }

  #sweep(): void {
    const now = performance.now()
    for (const connection of this.#connections) if (connection.dueAt <= now) connection.expired()
  }
}
