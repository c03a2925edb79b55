// A gRPC server: finds the method of a request and starts the call.

import type { RequestHead } from "../http2/request-head.js"
import { type Http2Options, startHttp2 } from "../http2/server.js"
import type { RequestReader, Stream } from "../http2/stream.js"
import type { Listener } from "../listener.js"
import { type CallServer, REFUSED, refuse, refuseHttp, StreamCall, UnaryCall } from "./grpc-call.js"
import type { GrpcMethods } from "./grpc-method.js"
import { GrpcError } from "./grpc-status.js"

export interface GrpcServerOptions extends Omit<Http2Options, "onRequest"> {
  readonly methods: GrpcMethods
  /** Default: 256 KiB. */
  readonly maxMessageBytes?: number | undefined
}

export async function startGrpc(options: GrpcServerOptions): Promise<Listener> {
  const calls = new Calls(options)
  const listener = await startHttp2({ ...options, onRequest: (stream, head) => calls.open(stream, head) })
  return {
    address: listener.address,
    close(deadlineMs) {
      calls.close()
      return listener.close(deadlineMs)
    },
  }
}

class Calls implements CallServer {
  readonly maxMessageBytes: number
  readonly requestTimeoutMs: number
  readonly onError: (error: unknown) => void
  readonly #methods: GrpcMethods
  /** Stream calls, which `close` has to end. */
  readonly #long = new Set<StreamCall>()

  constructor(options: GrpcServerOptions) {
    this.maxMessageBytes = options.maxMessageBytes ?? 262_144
    this.requestTimeoutMs = options.requestTimeoutMs ?? 10_000
    this.onError = options.onError ?? (() => {})
    this.#methods = options.methods
  }

  open(stream: Stream, head: RequestHead): RequestReader {
    const refusal = refusalOf(head)
    if (refusal !== undefined) {
      refuseHttp(stream, refusal)
      return REFUSED
    }
    const method = this.#methods.get(head.path)
    if (method === undefined) {
      refuse(stream, new GrpcError("UNIMPLEMENTED", "unknown method"))
      return REFUSED
    }
    if (method.kind === "unary") return new UnaryCall(stream, head, method, this)
    const call = new StreamCall(stream, head, method, this, (closed) => this.#long.delete(closed))
    this.#long.add(call)
    return call
  }

  close(): void {
    for (const call of this.#long) call.end(new GrpcError("UNAVAILABLE", "the server is shutting down"))
  }
}

/** The status for a request that is not a gRPC call. */
function refusalOf(head: RequestHead): number | undefined {
  if (head.isTooLarge) return 431
  if (head.method !== "POST") return 405
  const type = head.get("content-type") ?? ""
  // With or without the message format.
  return type === "application/grpc" || /^application\/grpc(\+proto)?(;|$)/i.test(type) ? undefined : 415
}
