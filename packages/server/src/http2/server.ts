// An HTTP/2 server for gRPC inside a network: clear text with prior knowledge, small answers. It exists because of what it
// saves: a ShouldRateLimit call takes 6 µs of processor time here and took 36 µs on node:http2. `npm run bench:service -- --case
// grpc` compares it with @grpc/grpc-js, which is built on node:http2.
//
// Everything that a client can make the server hold or do is bounded: connections, streams, headers, bytes that wait in either
// direction, times, and frames that ask for nothing. `npm run test:h2spec` checks the protocol.

import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { HeldBytes } from "../held-bytes.js"
import { addressOf, drain, type Listener } from "../listener.js"
import { Connection, type ConnectionContext } from "./connection.js"
import { FrameWriter } from "./frame-writer.js"
import type { OnRequest } from "./session.js"
import { TurnQueue } from "./turn-queue.js"

export interface Http2Options {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly onRequest: OnRequest
  /** The most bytes of headers that are kept of a request. Default: 16 KiB. */
  readonly maxHeaderBytes?: number | undefined
  /** The most concurrent requests on one connection. Default: 1,000. */
  readonly maxStreams?: number | undefined
  /** Default: 10,000. */
  readonly maxConnections?: number | undefined
  /** How long a client may take to send its preface, to answer a ping, and to read an answer. Default: 10 s. */
  readonly requestTimeoutMs?: number | undefined
  /** How long an idle connection is kept. Default: 10 minutes. */
  readonly keepAliveMs?: number | undefined
  /** Bounds the bytes that all clients together make the server hold. Default: 64 MiB. */
  readonly heldBytes?: HeldBytes | undefined
  /** Called with errors of the server itself. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** How often connections are checked for progress. */
const SWEEP_MS = 250

export async function startHttp2(options: Http2Options): Promise<Listener> {
  const connections = new Connections(options)
  const { server } = connections
  server.listen(options.port, options.host)
  await once(server, "listening")
  connections.sweep()
  let closed: Promise<void> | undefined
  return {
    address: addressOf(server),
    close(deadlineMs = 10_000) {
      closed ??= connections.close(deadlineMs)
      return closed
    },
  }
}

class Connections implements ConnectionContext {
  readonly server: Server
  readonly writer = new FrameWriter()
  readonly queue = new TurnQueue()
  readonly onRequest: OnRequest
  readonly maxStreams: number
  readonly maxHeaderBytes: number
  readonly requestTimeoutMs: number
  readonly keepAliveMs: number
  readonly heldBytes: HeldBytes
  readonly onError: (error: unknown) => void
  readonly #connections = new Set<Connection>()
  #sweeper: NodeJS.Timeout | undefined
  #isClosing = false

  constructor(options: Http2Options) {
    this.onRequest = options.onRequest
    this.maxStreams = options.maxStreams ?? 1_000
    this.maxHeaderBytes = options.maxHeaderBytes ?? 16_384
    this.requestTimeoutMs = options.requestTimeoutMs ?? 10_000
    this.keepAliveMs = options.keepAliveMs ?? 600_000
    this.heldBytes = options.heldBytes ?? new HeldBytes()
    this.onError = options.onError ?? (() => {})
    // Half open, so that a client that closes its side after its last request still gets the answers.
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket))
    this.server.maxConnections = options.maxConnections ?? 10_000
  }

  /** Checks all connections with one timer: a timer for each would have to be reset on every request. */
  sweep(): void {
    this.#sweeper = setInterval(() => {
      const now = performance.now()
      for (const connection of this.#connections) connection.look(now)
    }, SWEEP_MS).unref()
  }

  /** Sends GOAWAY to all clients, lets requests in progress finish, and cuts the rest after the deadline. */
  async close(deadlineMs: number): Promise<void> {
    this.#isClosing = true
    for (const connection of this.#connections) connection.goodbye(deadlineMs)
    await drain(this.server, deadlineMs, {
      cut: () => {
        for (const connection of this.#connections) connection.cut()
      },
    })
    clearInterval(this.#sweeper)
  }

  #accept(socket: Socket): void {
    const connection = new Connection(socket, this)
    this.#connections.add(connection)
    socket.on("close", () => this.#connections.delete(connection))
    // This connection was accepted while the server was closing.
    if (this.#isClosing) connection.goodbye()
  }
}
