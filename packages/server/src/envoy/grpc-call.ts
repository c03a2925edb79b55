// One gRPC call on its HTTP/2 stream: request headers, messages and the final status.

import { headerBlock } from "../http2/header-block.js"
import type { RequestHead } from "../http2/request-head.js"
import type { RequestReader, Stream } from "../http2/stream.js"
import { FrameReader } from "./grpc-frame.js"
import type { IncomingMessages, StreamMethod, UnaryMethod } from "./grpc-method.js"
import { GrpcError, statusHeaders } from "./grpc-status.js"
import { ProtobufError } from "./protobuf-reader.js"

/** What all calls of a server share. */
export interface CallServer {
  readonly maxMessageBytes: number
  /** How long a message may take to arrive. */
  readonly requestTimeoutMs: number
  /** Called for errors that are not the client's mistake. */
  onError(error: unknown): void
}

/** A stream call ends when the client leaves more than this unread. */
const MAX_UNREAD_BYTES = 1_048_576

const HTTP_OK = { ":status": "200", "content-type": "application/grpc" } as const
const HEADERS = headerBlock(HTTP_OK)
const OK = headerBlock({ "grpc-status": "0" })

/** A call with one message and one answer. */
export class UnaryCall implements RequestReader {
  readonly #stream: Stream
  readonly #method: UnaryMethod
  readonly #server: CallServer
  readonly #frames: FrameReader
  /** The client's deadline or the server's, whichever is earlier. */
  readonly #deadline: number
  #hasMessage = false
  #timer: NodeJS.Timeout | undefined

  constructor(stream: Stream, head: RequestHead, method: UnaryMethod, server: CallServer) {
    const { requestTimeoutMs } = server
    const timeout = timeoutOf(head.get("grpc-timeout")) ?? requestTimeoutMs
    this.#stream = stream
    this.#method = method
    this.#server = server
    this.#frames = new FrameReader(server.maxMessageBytes, head.get("grpc-encoding"))
    this.#deadline = performance.now() + Math.min(timeout, requestTimeoutMs)
  }

  data(bytes: Buffer): void {
    if (this.#hasMessage) return
    try {
      this.#frames.push(bytes)
      const message = this.#frames.next()
      if (message !== undefined && this.#frames.held > 0)
        throw new GrpcError("INVALID_ARGUMENT", "this method takes one message, got more")
      hold(this.#stream, this.#frames)
      if (message !== undefined) this.#answer(message)
    } catch (error) {
      this.#fail(error)
    }
  }

  ended(): void {
    if (!this.#hasMessage) this.#fail(cutShort())
  }

  closed(): void {
    clearTimeout(this.#timer)
  }

  look(now: number): void {
    if (now < this.#deadline) return
    if (!this.#hasMessage) this.#expire()
    // The client has its answer but does not end its side of the stream.
    else this.#stream.hangUp()
  }

  #answer(message: Buffer): void {
    this.#hasMessage = true
    try {
      const answer = this.#method.answer(message)
      if (!(answer instanceof Promise)) {
        this.#stream.answer(HEADERS, answer, OK)
        return
      }
      this.#timer = setTimeout(() => this.#expire(), this.#deadline - performance.now())
      answer.then(
        (frame) => {
          clearTimeout(this.#timer)
          this.#stream.answer(HEADERS, frame, OK)
        },
        (error: unknown) => this.#fail(error),
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  #expire(): void {
    this.#fail(new GrpcError("DEADLINE_EXCEEDED", "the deadline has passed"))
  }

  #fail(error: unknown): void {
    this.#hasMessage = true
    clearTimeout(this.#timer)
    refuse(this.#stream, toGrpcError(error, this.#server))
  }
}

/** A call with messages in both directions. */
export class StreamCall implements RequestReader {
  readonly #stream: Stream
  readonly #server: CallServer
  readonly #frames: FrameReader
  readonly #incoming: IncomingMessages
  readonly #onClosed: (call: StreamCall) => void
  /** Since when the rest of a message is missing. */
  #incompleteSince: number | undefined
  #isOver = false

  constructor(
    stream: Stream,
    head: RequestHead,
    method: StreamMethod,
    server: CallServer,
    onClosed: (call: StreamCall) => void,
  ) {
    this.#stream = stream
    this.#server = server
    this.#frames = new FrameReader(server.maxMessageBytes, head.get("grpc-encoding"))
    this.#onClosed = onClosed
    this.#incoming = method.open({ send: (frame) => this.#send(frame), end: (error) => this.end(error) })
  }

  data(bytes: Buffer): void {
    this.#attempt(() => {
      const frames = this.#frames
      frames.push(bytes)
      for (let next = frames.next(); next !== undefined && !this.#isOver; next = frames.next()) {
        this.#incompleteSince = undefined
        this.#incoming.message(next)
      }
      hold(this.#stream, frames)
      if (frames.held > 0) this.#incompleteSince ??= performance.now()
    })
  }

  ended(): void {
    this.#attempt(() => {
      if (this.#frames.held > 0) throw cutShort()
      this.#incoming.end()
    })
  }

  closed(): void {
    this.#isOver = true
    this.#incoming.closed?.()
    this.#onClosed(this)
  }

  /** The call may last without limit, but a message that has begun must arrive in time. */
  look(now: number): void {
    if (this.#incompleteSince !== undefined && now - this.#incompleteSince >= this.#server.requestTimeoutMs)
      this.end(new GrpcError("DEADLINE_EXCEEDED", "the rest of a message did not arrive"))
  }

  /** Ends the call with the status of the error, or OK. */
  end(error?: GrpcError): void {
    if (this.#isOver) return
    this.#isOver = true
    const stream = this.#stream
    if (error !== undefined && !stream.hasBegun) {
      refuse(stream, error)
      return
    }
    stream.open(HEADERS)
    stream.end(error === undefined ? OK : headerBlock(statusHeaders(error)))
  }

  #send(frame: Buffer): void {
    if (this.#isOver) return
    const stream = this.#stream
    stream.open(HEADERS)
    stream.send(frame)
    if (stream.unsentBytes > MAX_UNREAD_BYTES)
      this.end(new GrpcError("RESOURCE_EXHAUSTED", `more than ${MAX_UNREAD_BYTES} bytes are unread`))
  }

  #attempt(work: () => void): void {
    if (this.#isOver) return
    try {
      work()
    } catch (error) {
      this.end(toGrpcError(error, this.#server))
    }
  }
}

/** Ignores the rest of a refused request. */
export const REFUSED: RequestReader = { data() {}, ended() {}, closed() {}, look() {} }

/** Ends a call that has sent nothing with only a status, without waiting for the rest of the request. */
export function refuse(stream: Stream, error: GrpcError): void {
  const accepts = error.status === "UNIMPLEMENTED" ? { "grpc-accept-encoding": "identity" } : {}
  stream.refuse(headerBlock({ ...HTTP_OK, ...statusHeaders(error), ...accepts }))
}

/** Ends a request that is not a gRPC call. */
export function refuseHttp(stream: Stream, status: number): void {
  stream.refuse(headerBlock({ ":status": String(status) }))
}

const TIMEOUT_UNITS_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
}

/** The `grpc-timeout` header in milliseconds: `20m` is 20. Undefined when it is missing or invalid. */
function timeoutOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? []
  return unit === undefined ? undefined : Number(digits) * (TIMEOUT_UNITS_MS[unit] as number)
}

function cutShort(): GrpcError {
  return new GrpcError("INVALID_ARGUMENT", "the call ended before its message did")
}

function hold(stream: Stream, { kept }: FrameReader): void {
  if (!stream.holds(kept)) throw new GrpcError("RESOURCE_EXHAUSTED", "too many incomplete messages are held")
}

function toGrpcError(error: unknown, server: CallServer): GrpcError {
  if (error instanceof GrpcError) return error
  if (error instanceof ProtobufError)
    return new GrpcError("INVALID_ARGUMENT", `not a message of this method: ${error.message}`)
  server.onError(error)
  return new GrpcError("INTERNAL", "the server's log says more")
}
