// WebSocket and other upgrades: asks the upstream to switch protocols, then passes bytes on in both directions.

import type { Duplex } from "node:stream"
import { PROBLEM_CONTENT_TYPE, problemBody } from "sluice/http"
import { fieldLines } from "../../http1/fields.js"
import { statusLine } from "../../http1/response.js"
import type { Route } from "../routes/route.js"
import type { AnswerHead } from "../upstream/answer-head.js"
import type { Connection, Exchanging } from "../upstream/connection.js"
import type { Refusal, Taker } from "../upstream/pool.js"
import type { Target } from "../upstream/upstream.js"
import type { ClientRequest } from "./client-request.js"
import { type Deadline, DeadlineTimer } from "./deadline-timer.js"
import type { Origin } from "./forwarded-headers.js"
import { answerHeaders } from "./headers.js"
import {
  failureOf,
  type GatewayProblem,
  gatewayProblem,
  type OnUpstreamFailure,
  refusals,
} from "./problems.js"
import type { RequestContext } from "./request-context.js"
import { hostFor, requestHead } from "./request-head.js"

export class Upgrade implements Exchanging, Taker {
  readonly #context: RequestContext
  readonly #request: ClientRequest
  readonly #socket: Duplex
  readonly #early: EarlyBytes
  readonly #route: Route
  readonly #path: string
  readonly #origin: Origin
  readonly #onFailure: OnUpstreamFailure | undefined
  readonly #timer: DeadlineTimer
  #target: Target | undefined
  #connection: Connection | undefined
  #sentAt = 0
  #hasAnswer = false
  #isOver = false

  constructor(
    context: RequestContext,
    socket: Duplex,
    early: EarlyBytes,
    route: Route,
    path: string,
    origin: Origin,
    onFailure: OnUpstreamFailure | undefined,
  ) {
    this.#context = context
    this.#request = context.request
    this.#socket = socket
    this.#early = early
    this.#route = route
    this.#path = path
    this.#origin = origin
    this.#onFailure = onFailure
    const deadlines = { ...route.deadlines, total: 0 }
    this.#timer = new DeadlineTimer(deadlines, performance.now(), (deadline) => this.#expired(deadline))
  }

  start(): void {
    const target = this.#route.upstream.pick()
    if (target === undefined) {
      this.#answer("UPSTREAM_UNAVAILABLE")
      return
    }
    this.#target = target
    this.#context.target = target
    target.begin()
    target.pool.take(this, { connectMs: this.#route.deadlines.connect, kind: "alone" })
  }

  /** The client has disconnected. */
  abandon(): void {
    if (!this.#isOver) this.#over("answered")
  }

  refused(refusal: Refusal, error: Error): void {
    if (!this.#isOver) this.#fail(refusals[refusal], error)
  }

  connected(connection: Connection): void {
    // A connection that is being opened cannot be cancelled.
    if (this.#isOver) {
      connection.drop()
      return
    }
    const request = this.#request
    this.#connection = connection
    this.#sentAt = performance.now()
    this.#timer.enter("headers", this.#sentAt)
    const upgrade = request.headers.upgrade ?? ""
    connection.begin(this, { isHead: request.method === "HEAD", isUpgrade: true })
    connection.write(
      requestHead({
        request,
        target: this.#path,
        host: hostFor(this.#route, this.#target as Target, this.#context.host),
        origin: this.#origin,
        framing: "none",
        passesMethodOverride: this.#route.passesMethodOverride,
        upgrade,
      }),
    )
    connection.sent()
  }

  switched(head: AnswerHead, rest: Buffer): void {
    const context = this.#context
    const upstream = (this.#connection as Connection).detach()
    this.#timer.stop()
    this.#answered(head, ["connection", "upgrade", "upgrade", protocolOf(head)])
    const early = this.#early.take()
    if (rest.length > 0) this.#socket.write(rest)
    if (early.length > 0) upstream.write(early)
    context.bytesIn += early.length
    context.bytesOut += rest.length
    join(this.#socket, upstream, {
      toUpstream: (bytes) => {
        context.bytesIn += bytes
      },
      toClient: (bytes) => {
        context.bytesOut += bytes
      },
    })
  }

  /** The upstream does not switch: the client gets its answer, and the connection ends with it. */
  headed(head: AnswerHead): void {
    this.#timer.enter("bodyIdle", performance.now())
    // The chunks are decoded, so only the end of the connection shows where the body ends.
    this.#answered(head, ["connection", "close"])
  }

  body(bytes: Buffer): void {
    this.#context.bytesOut += bytes.length
    this.#timer.mark()
    if (!this.#socket.write(bytes)) {
      const upstream = this.#connection?.socket
      upstream?.pause()
      this.#socket.once("drain", () => upstream?.resume())
    }
  }

  ended(): void {
    this.#socket.end(() => this.#socket.destroy())
    this.#over("answered")
  }

  informed(): void {
    // Interim answers are not passed on.
  }

  paused(): void {
    // Everything is written as it arrives.
  }

  drained(): void {
    // Only the head was written.
  }

  failed(error: Error): void {
    this.#connection = undefined
    if (!this.#isOver) this.#fail(failureOf(error), error)
  }

  #answered(head: AnswerHead, framing: readonly string[]): void {
    const context = this.#context
    context.status = head.status
    context.upstreamMs = performance.now() - this.#sentAt
    this.#hasAnswer = true
    const headers = answerHeaders(head, context.ownHeaders())
    const lines = fieldLines([...headers, ...framing])
    this.#socket.write(`HTTP/1.1 ${head.status} ${head.reason}\r\n${lines}\r\n`, "latin1")
  }

  #expired(deadline: Deadline): void {
    this.#fail("UPSTREAM_TIMEOUT", new Error(`no answer within the deadline "${deadline}"`))
  }

  #fail(problem: GatewayProblem, error: Error): void {
    const origin = this.#target?.origin
    if (origin !== undefined) this.#onFailure?.({ origin, problem, error })
    this.#answer(problem)
  }

  #answer(problem: GatewayProblem): void {
    const context = this.#context
    context.error = problem
    this.#over("failed")
    if (this.#hasAnswer) {
      this.#socket.destroy()
      return
    }
    const { status, bytes } = endWithProblem(this.#socket, problem, context.ownHeaders())
    context.status = status
    context.bytesOut = bytes
  }

  #over(outcome: "answered" | "failed"): void {
    this.#isOver = true
    this.#timer.stop()
    this.#connection?.drop()
    this.#connection = undefined
    const target = this.#target
    this.#target = undefined
    target?.ended(outcome)
  }
}

function protocolOf({ headers }: AnswerHead): string {
  for (let i = 0; i < headers.length; i += 2) {
    if ((headers[i] as string).toLowerCase() === "upgrade") return headers[i + 1] as string
  }
  return ""
}

/** More than the first message of any protocol. The client should not send yet. */
const MAX_EARLY_BYTES = 65_536

/**
 * Holds what a client sends before the upstream has switched. The socket is read meanwhile, because a socket that is not read
 * does not report that its client has disconnected.
 */
export class EarlyBytes {
  readonly #socket: Duplex
  readonly #pieces: Buffer[]
  #length: number

  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket
    this.#pieces = [head]
    this.#length = head.length
    socket.on("data", this.#onData).on("end", this.#onEnd)
  }

  /** Returns the bytes, and stops reading: the caller reads the socket from here on. */
  take(): Buffer {
    this.#socket.off("data", this.#onData).off("end", this.#onEnd)
    return Buffer.concat(this.#pieces)
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    if (this.#length > MAX_EARLY_BYTES) this.#socket.pause()
  }

  readonly #onEnd = (): void => {
    this.#socket.destroy()
  }
}

interface TunnelWatch {
  toUpstream(bytes: number): void
  toClient(bytes: number): void
}

/** Pipes two sockets into each other until either ends, no faster than the other side receives. */
function join(client: Duplex, upstream: Duplex, watch: TunnelWatch): void {
  pump(client, upstream, watch.toUpstream)
  pump(upstream, client, watch.toClient)
}

function pump(from: Duplex, to: Duplex, moved: (bytes: number) => void): void {
  from.on("data", (bytes: Buffer) => {
    moved(bytes.length)
    if (!to.write(bytes)) from.pause()
  })
  from.resume()
  to.on("drain", () => from.resume())
  // The other side receives the last bytes before it is told of the end.
  from.on("end", () => to.end())
  from.on("error", () => to.destroy())
  from.on("close", () => (to.writableEnded ? undefined : to.destroy()))
}

/** Writes a whole answer and ends the connection. Returns the length of the body. */
export function endWith(
  socket: Duplex,
  status: number,
  contentType: string,
  body: string,
  headers: readonly string[] = [],
): number {
  const bytes = Buffer.byteLength(body)
  const all = [
    ...headers,
    ...["content-type", contentType],
    ...["cache-control", "no-store"],
    ...["content-length", String(bytes)],
    ...["connection", "close"],
  ]
  if (socket.writable)
    socket.end(`${statusLine(status)}${fieldLines(all)}\r\n${body}`, () => socket.destroy())
  else socket.destroy()
  return bytes
}

export function endWithProblem(
  socket: Duplex,
  code: GatewayProblem,
  headers: readonly string[] = [],
): { status: number; bytes: number } {
  const problem = gatewayProblem(code)
  const { status } = problem
  return { status, bytes: endWith(socket, status, PROBLEM_CONTENT_TYPE, problemBody(problem), headers) }
}
