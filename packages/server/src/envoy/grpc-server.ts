// A gRPC server on node:http2. Everything a client can make it hold is bounded: connections, streams, headers, messages, and
// how long each may take.

import { once } from "node:events"
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2"
import { sayGoodbye } from "../http/http2-goodbye.js"
import { addressOf, type Listener } from "../listener.js"
import {
  type CallLimits,
  type OnError,
  refuse,
  refuseHttp,
  serveStream,
  UnaryCall,
  type UnaryServer,
} from "./grpc-call.js"
import { Connection } from "./grpc-connection.js"
import type { GrpcMethods } from "./grpc-method.js"
import { GrpcError } from "./grpc-status.js"

export interface GrpcServerOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly methods: GrpcMethods
  /** Default: 256 KiB. */
  readonly maxMessageBytes?: number | undefined
  /** Default: 16 KiB. */
  readonly maxHeaderBytes?: number | undefined
  /** Calls at once on one connection. Default: 1,000. */
  readonly maxStreams?: number | undefined
  /** Default: 10,000. */
  readonly maxConnections?: number | undefined
  /** How long a call may take to arrive, and a connection to say what it speaks. Default: 10 s. */
  readonly requestTimeoutMs?: number | undefined
  /** How long an idle connection is kept. Default: 10 minutes. */
  readonly keepAliveMs?: number | undefined
  /** Told of what went wrong in the server itself. */
  readonly onError?: OnError | undefined
}

/** How long `close` waits for a client to have seen that it should go elsewhere. */
const LAST_CALL_MS = 500
/** How often calls that do not go on are looked for. */
const SWEEP_MS = 250
const MOST_HEADER_BYTES = 16_384

export async function startGrpc(options: GrpcServerOptions): Promise<Listener> {
  const server = createServer({
    settings: {
      enablePush: false,
      maxConcurrentStreams: options.maxStreams ?? 1_000,
      maxHeaderListSize: options.maxHeaderBytes ?? MOST_HEADER_BYTES,
    },
    maxHeaderListPairs: 64,
    maxSettings: 16,
    maxOutstandingPings: 4,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    // In MB, of frames and headers that wait to be sent or read.
    maxSessionMemory: 8,
    unknownProtocolTimeout: 1_000,
  })
  server.maxConnections = options.maxConnections ?? 10_000
  const serving = new Serving(server, options)
  server.listen(options.port, options.host)
  try {
    await once(server, "listening")
  } catch (error) {
    serving.stop()
    throw error
  }
  let closed: Promise<void> | undefined
  return {
    address: addressOf(server),
    close(deadlineMs = 10_000) {
      closed ??= serving.close(deadlineMs)
      return closed
    },
  }
}

class Serving implements UnaryServer {
  readonly #server: Http2Server
  readonly #methods: GrpcMethods
  readonly limits: CallLimits
  readonly onError: OnError
  readonly #keepAliveMs: number
  readonly #maxHeaderBytes: number
  readonly #sweeper: NodeJS.Timeout
  readonly arriving = new Set<UnaryCall>()
  readonly #sessions = new Map<ServerHttp2Session, Connection>()

  constructor(server: Http2Server, options: GrpcServerOptions) {
    const { maxMessageBytes = 262_144, requestTimeoutMs = 10_000 } = options
    this.#server = server
    this.#methods = options.methods
    this.limits = { maxMessageBytes, requestTimeoutMs }
    this.onError = options.onError ?? (() => {})
    this.#maxHeaderBytes = options.maxHeaderBytes ?? MOST_HEADER_BYTES
    this.#keepAliveMs = options.keepAliveMs ?? 600_000
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref()
    server.on("session", (session) => this.#session(session))
    // What clients do wrong in HTTP/2 ends their connection and is no concern of ours.
    server.on("sessionError", () => {})
  }

  stop(): void {
    clearInterval(this.#sweeper)
  }

  /** Tells clients to go elsewhere, lets what is under way finish, and after the deadline hangs up. */
  async close(deadlineMs: number): Promise<void> {
    const closed = once(this.#server, "close")
    this.#server.close()
    for (const [session, { calls }] of this.#sessions) {
      for (const call of calls) call.end(new GrpcError("UNAVAILABLE", "the server is going away"))
      sayGoodbye(session, Math.min(LAST_CALL_MS, deadlineMs))
    }
    const hangUp = setTimeout(() => {
      for (const session of this.#sessions.keys()) session.destroy()
    }, deadlineMs)
    await closed
    clearTimeout(hangUp)
    this.stop()
  }

  #session(session: ServerHttp2Session): void {
    const connection = new Connection(session, this.limits.requestTimeoutMs, this.#keepAliveMs)
    this.#sessions.set(session, connection)
    session.on("close", () => this.#sessions.delete(session))
    session.on("error", ignore)
    // On the connection and not on the server: each call is told of once, and knows where it came from.
    const onStream = (
      stream: ServerHttp2Stream,
      headers: IncomingHttpHeaders,
      _flags: number,
      raw: readonly string[],
    ): void => this.#stream(connection, stream, headers, raw)
    session.on("stream", onStream)
    if (!this.#server.listening) session.close()
  }

  #stream(
    connection: Connection,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
  ): void {
    stream.on("error", ignore)
    const method = this.#methods.get(headers[":path"] as string)
    const refusal = refusalOf(headers, raw, this.#maxHeaderBytes)
    if (refusal !== undefined) {
      refuseHttp(stream, refusal)
      return
    }
    if (method === undefined) {
      refuse(stream, new GrpcError("UNIMPLEMENTED", "there is no such method here"))
      return
    }
    connection.isActive = true
    if (method.kind === "stream") {
      const call = serveStream(stream, headers, method, this.limits, this.onError)
      connection.calls.add(call)
      stream.on("close", () => connection.calls.delete(call))
      return
    }
    new UnaryCall(stream, headers, method, this)
  }

  #sweep(): void {
    const now = performance.now()
    for (const call of this.arriving) call.look(now)
    for (const connection of this.#sessions.values()) connection.look(now)
  }
}

/** What goes wrong with a stream is told by its end. */
function ignore(): void {}

/** The status for a request that is not a gRPC call. */
function refusalOf(
  headers: IncomingHttpHeaders,
  raw: readonly string[],
  maxBytes: number,
): number | undefined {
  // Clients are told how much is taken, and not held to it before 64 KiB.
  let bytes = 0
  for (const text of raw) bytes += text.length
  if (bytes > maxBytes) return 431
  if (headers[":method"] !== "POST") return 405
  if (headers["content-type"] === "application/grpc") return undefined
  // With what the messages are written in, or without.
  return /^application\/grpc(\+proto)?(;|$)/i.test(headers["content-type"] ?? "") ? undefined : 415
}
