// One call on its HTTP/2 stream: what is asked in the headers, the messages, and the status at the end.

import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2"
import { FrameReader, wholeMessage } from "./grpc-frame.js"
import type { StreamMethod, UnaryMethod } from "./grpc-method.js"
import { GrpcError, statusHeaders } from "./grpc-status.js"
import { timeoutOf } from "./grpc-timeout.js"
import { ProtobufError } from "./protobuf-reader.js"

export interface CallLimits {
  readonly maxMessageBytes: number
  /** How long the message of a call may take to arrive. */
  readonly requestTimeoutMs: number
}

/** What unary calls share. */
export interface UnaryServer {
  readonly limits: CallLimits
  readonly onError: OnError
  /** Calls whose message is not complete. */
  readonly arriving: Set<UnaryCall>
}

/** Told of what is not the client's mistake. */
export type OnError = (error: unknown) => void

/** What clients have not read of a stream's messages before the call is given up. */
const MOST_UNREAD = 1_048_576

const HEADERS = { ":status": 200, "content-type": "application/grpc" } as const
const TRAILERS = { "grpc-status": "0" } as const
const WITH_TRAILERS = { waitForTrailers: true } as const

function sendTrailers(this: ServerHttp2Stream): void {
  this.sendTrailers(TRAILERS)
}

/** Where a stream keeps its call, so that all streams share their listeners. */
const CALL = Symbol("call")

type CallStream = ServerHttp2Stream & { [CALL]?: UnaryCall | undefined }

function onData(this: CallStream, chunk: Buffer): void {
  this[CALL]?.data(chunk)
}

/** One message, one answer. On the path of every decision: no closure and no listener more than it needs. */
export class UnaryCall {
  private readonly stream: CallStream
  private readonly method: UnaryMethod
  private readonly server: UnaryServer
  private readonly encoding: string | undefined
  /** When the client gives up, or is given up. */
  private readonly deadline: number
  private frames: FrameReader | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    method: UnaryMethod,
    server: UnaryServer,
  ) {
    const { requestTimeoutMs } = server.limits
    const timeout = timeoutOf(headers["grpc-timeout"] as string | undefined) ?? requestTimeoutMs
    this.stream = stream
    this.method = method
    this.server = server
    this.encoding = headers["grpc-encoding"] as string | undefined
    this.deadline = performance.now() + Math.min(timeout, requestTimeoutMs)
    this.frames = undefined
    this.timer = undefined
    this.stream[CALL] = this
    server.arriving.add(this)
    stream.on("data", onData)
  }

  data(chunk: Buffer): void {
    const { maxMessageBytes } = this.server.limits
    const whole = this.frames === undefined ? wholeMessage(chunk, maxMessageBytes) : undefined
    if (whole !== undefined) {
      this.answer(whole)
      return
    }
    try {
      this.frames ??= new FrameReader(maxMessageBytes, this.encoding)
      this.frames.push(chunk)
      const message = this.frames.next()
      if (message === undefined) return
      if (this.frames.isInside)
        throw new GrpcError("INVALID_ARGUMENT", "this method takes one message, got more")
      this.answer(message)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Of a call whose message is not complete: ends it if it never will be, or takes too long. */
  look(now: number): void {
    const { destroyed, readableEnded } = this.stream
    if (destroyed) this.server.arriving.delete(this)
    else if (readableEnded)
      this.fail(new GrpcError("INVALID_ARGUMENT", "the call ended before its message did"))
    else if (this.deadline <= now) this.expire()
  }

  private answer(message: Buffer): void {
    this.stop()
    try {
      const answer = this.method.answer(message)
      if (!(answer instanceof Promise)) {
        this.send(answer)
        return
      }
      this.timer = setTimeout(() => this.expire(), this.deadline - performance.now())
      answer.then(
        (frame) => this.send(frame),
        (error: unknown) => this.fail(error),
      )
    } catch (error) {
      this.fail(error)
    }
  }

  private send(frame: Buffer): void {
    const { stream } = this
    if (this.timer !== undefined) clearTimeout(this.timer)
    if (stream.headersSent || stream.destroyed) return
    stream.respond(HEADERS, WITH_TRAILERS)
    stream.on("wantTrailers", sendTrailers)
    stream.end(frame)
  }

  private expire(): void {
    this.fail(new GrpcError("DEADLINE_EXCEEDED", "the deadline has passed"))
  }

  private fail(error: unknown): void {
    this.stop()
    clearTimeout(this.timer)
    refuse(this.stream, toGrpcError(error, this.server.onError))
  }

  /** Reads no more. */
  private stop(): void {
    this.stream[CALL] = undefined
    this.server.arriving.delete(this)
  }
}

/** Messages both ways. */
export function serveStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  method: StreamMethod,
  limits: CallLimits,
  onError: OnError,
): { end(error: GrpcError): void } {
  const frames = new FrameReader(limits.maxMessageBytes, headers["grpc-encoding"] as string | undefined)
  let isOver = false
  const end = (error?: GrpcError): void => {
    if (isOver) return
    isOver = true
    if (!stream.headersSent) {
      if (error !== undefined) {
        refuse(stream, error)
        return
      }
      if (!stream.destroyed) stream.respond(HEADERS, WITH_TRAILERS)
    }
    if (stream.destroyed) return
    stream.on("wantTrailers", () =>
      stream.sendTrailers(error === undefined ? TRAILERS : statusHeaders(error)),
    )
    stream.end()
  }
  const send = (frame: Buffer): void => {
    if (isOver || stream.destroyed) return
    if (!stream.headersSent) stream.respond(HEADERS, WITH_TRAILERS)
    stream.write(frame)
    if (stream.writableLength > MOST_UNREAD)
      end(new GrpcError("RESOURCE_EXHAUSTED", `more than ${MOST_UNREAD} bytes have not been read`))
  }
  const attempt = (work: () => void): void => {
    if (isOver) return
    try {
      work()
    } catch (error) {
      end(toGrpcError(error, onError))
    }
  }
  const incoming = method.open({ send, end })
  stream.on("data", (chunk: Buffer) =>
    attempt(() => {
      frames.push(chunk)
      for (let next = frames.next(); next !== undefined && !isOver; next = frames.next())
        incoming.message(next)
    }),
  )
  stream.on("end", () =>
    attempt(() => {
      if (frames.isInside) throw new GrpcError("INVALID_ARGUMENT", "the call ended before its message did")
      incoming.end()
    }),
  )
  stream.on("close", () => {
    isOver = true
    incoming.closed?.()
  })
  return { end }
}

/** Ends a call that has sent nothing with its status alone. What the client still sends is not waited for. */
export function refuse(stream: ServerHttp2Stream, error: GrpcError): void {
  if (stream.headersSent || stream.destroyed) return
  const accepts = error.status === "UNIMPLEMENTED" ? { "grpc-accept-encoding": "identity" } : {}
  stream.respond({ ...HEADERS, ...statusHeaders(error), ...accepts }, { endStream: true })
  hangUp(stream)
}

/** Ends a request that is not a gRPC call. */
export function refuseHttp(stream: ServerHttp2Stream, status: number): void {
  if (stream.headersSent || stream.destroyed) return
  stream.respond({ ":status": status }, { endStream: true })
  hangUp(stream)
}

function hangUp(stream: ServerHttp2Stream): void {
  stream.resume()
  if (!stream.readableEnded && stream.readable) stream.close(constants.NGHTTP2_NO_ERROR)
}

function toGrpcError(error: unknown, onError: OnError): GrpcError {
  if (error instanceof GrpcError) return error
  if (error instanceof ProtobufError)
    return new GrpcError("INVALID_ARGUMENT", `not a message of this method: ${error.message}`)
  onError(error)
  return new GrpcError("INTERNAL", "the server's log says more")
}
