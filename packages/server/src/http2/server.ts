// An HTTP/2 server for small answers, in clear text and with prior knowledge, as gRPC inside a network is spoken. Written by
// hand for what it saves: a ShouldRateLimit takes 6 µs of processor time, and took 36 on node:http2, which makes a stream,
// headers and several events of each. A unary call of @grpc/grpc-js, which stands on it too, takes 39 with nothing decided.
//   npm run bench:service -- --case grpc
// prints the first and the last.
//
// Everything a client can make it hold or do is bounded: connections, streams, headers, what waits in either direction, how
// long each may take, and frames that ask for nothing. npm run test:h2spec holds it to the protocol.

import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { HeldBytes } from "../held-bytes.js"
import { acceptWaiting, addressOf, type Listener } from "../listener.js"
import { Connection, type Turns } from "./connection.js"
import { FrameWriter } from "./frame-writer.js"
import type { OnRequest } from "./session.js"
import { TurnQueue } from "./turn-queue.js"

export interface Http2Options {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly onRequest: OnRequest
  /** Of headers that are kept; the request of a client that sends more says so. Default: 16 KiB. */
  readonly maxHeaderBytes?: number | undefined
  /** Requests at once on one connection. Default: 1,000. */
  readonly maxStreams?: number | undefined
  /** Default: 10,000. */
  readonly maxConnections?: number | undefined
  /** How long a connection may take to say what it speaks, to answer a ping, and to take an answer. Default: 10 s. */
  readonly requestTimeoutMs?: number | undefined
  /** How long an idle connection is kept. Default: 10 minutes. */
  readonly keepAliveMs?: number | undefined
  /** Bounds what all clients together make the server hold. Default: 64 MiB. */
  readonly heldBytes?: HeldBytes | undefined
  /** Told of what went wrong in the server itself. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** How often what does not go on is looked for. */
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

class Connections implements Turns {
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
    // Half open: who closes its side after the last request still gets its answers.
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket))
    this.server.maxConnections = options.maxConnections ?? 10_000
  }

  /** Looks at all of them from time to time: a timer for each would be moved with every request. */
  sweep(): void {
    this.#sweeper = setInterval(() => {
      const now = performance.now()
      for (const connection of this.#connections) connection.look(now)
    }, SWEEP_MS).unref()
  }

  /** Tells clients to go elsewhere, lets what is under way finish, and after the deadline hangs up. */
  async close(deadlineMs: number): Promise<void> {
    this.#isClosing = true
    for (const connection of this.#connections) connection.goodbye(deadlineMs)
    await acceptWaiting(this.server, deadlineMs)
    const closed = once(this.server, "close")
    this.server.close()
    const hangUp = setTimeout(() => {
      for (const connection of this.#connections) connection.cut()
    }, deadlineMs)
    await closed
    clearTimeout(hangUp)
    clearInterval(this.#sweeper)
  }

  #accept(socket: Socket): void {
    const connection = new Connection(socket, this)
    this.#connections.add(connection)
    socket.on("close", () => this.#connections.delete(connection))
    // It was on its way when the door closed.
    if (this.#isClosing) connection.goodbye()
  }
}
