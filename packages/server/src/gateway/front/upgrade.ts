// WebSocket and other upgrades: asks the upstream to switch protocols, then passes bytes on in both directions.

import type { Duplex } from "node:stream"
import type { DeniedAnswer } from "sluice/http"
import { fieldLines } from "../../http1/fields.js"
import { statusLine } from "../../http1/response.js"
import type { AnswerHead } from "../upstream/answer-parser.js"
import type { Connection, ExchangeListener } from "../upstream/connection.js"
import type { Refusal, Taker } from "../upstream/pool.js"
import type { Target } from "../upstream/target.js"
import { answerProblem, type OwnAnswer } from "./client-answer.js"
import { type Deadline, DeadlineTimer } from "./deadline-timer.js"
import { answerHeaders, hostFor, requestHead, wholeHeaders } from "./headers.js"
import { failureOf, type GatewayProblem, type OnUpstreamFailure, refusals } from "./problems.js"
import type { Destination, Forwarding, RequestContext } from "./request-context.js"

export class Upgrade implements Forwarding, ExchangeListener, Taker {
  readonly #context: RequestContext
  readonly #client: UpgradingClient
  readonly #destination: Destination
  readonly #onFailure: OnUpstreamFailure | undefined
  readonly #timer: DeadlineTimer
  #target: Target | undefined
  #connection: Connection | undefined
  #sentAt = 0
  #hasAnswer = false
  #isOver = false

  constructor(
    context: RequestContext,
    client: UpgradingClient,
    destination: Destination,
    onFailure: OnUpstreamFailure | undefined,
  ) {
    this.#context = context
    this.#client = client
    this.#destination = destination
    this.#onFailure = onFailure
    const deadlines = { ...destination.route.deadlines, total: 0 }
    this.#timer = new DeadlineTimer(deadlines, performance.now(), (deadline) => this.#expired(deadline))
  }

  start(): void {
    const { upstream, deadlines } = this.#destination.route
    const target = upstream.pick()
    if (target === undefined) {
      this.#answer("UPSTREAM_UNAVAILABLE")
      return
    }
    this.#target = target
    this.#context.target = target
    target.begin()
    target.pool.take(this, { connectMs: deadlines.connect, kind: "alone" })
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
    const { request, host } = this.#context
    this.#connection = connection
    this.#sentAt = performance.now()
    this.#timer.enter("headers", this.#sentAt)
    connection.begin(this, { isHead: request.method === "HEAD", isUpgrade: true })
    const hostHeader = hostFor(this.#destination.route, this.#target as Target, host)
    connection.write(
      requestHead(request, this.#destination, hostHeader, "none", request.headers.upgrade ?? ""),
    )
    connection.sent()
  }

  switched(head: AnswerHead, rest: Buffer): void {
    const context = this.#context
    const upstream = (this.#connection as Connection).detach()
    this.#timer.stop()
    this.#answered(head, ["connection", "upgrade", "upgrade", protocolOf(head)])
    context.admission?.upgraded()
    const { socket } = this.#client
    const early = this.#client.takeEarlyBytes()
    if (rest.length > 0) socket.write(rest)
    if (early.length > 0) upstream.write(early)
    context.bytesIn += early.length
    context.bytesOut += rest.length
    pump(socket, upstream, (bytes) => {
      context.bytesIn += bytes
    })
    pump(upstream, socket, (bytes) => {
      context.bytesOut += bytes
    })
  }

  /** The upstream does not switch: the client gets its answer, and the connection ends with it. */
  head(head: AnswerHead): void {
    this.#timer.enter("bodyIdle", performance.now())
    // The chunks are decoded, so only the end of the connection shows where the body ends.
    this.#answered(head, ["connection", "close"])
  }

  body(bytes: Buffer): void {
    this.#context.bytesOut += bytes.length
    this.#timer.mark()
    const { socket } = this.#client
    if (socket.write(bytes)) return
    const upstream = this.#connection?.socket
    upstream?.pause()
    socket.once("drain", () => upstream?.resume())
  }

  ended(): void {
    const { socket } = this.#client
    socket.end(() => socket.destroy())
    this.#over("answered")
  }

  interim(): void {
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
    const lines = fieldLines(answerHeaders(head, context.limitHeaders)) + fieldLines(framing)
    this.#client.socket.write(`HTTP/1.1 ${head.status} ${head.reason}\r\n${lines}\r\n`, "latin1")
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
    this.#context.error = problem
    this.#over("failed")
    if (this.#hasAnswer) this.#client.socket.destroy()
    else answerProblem(this.#context, this.#client, problem)
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
 * A client that asks to switch protocols. It holds what the client sends before the upstream has switched. The socket is read
 * meanwhile, because a socket that is not read does not report that its client has disconnected.
 */
export class UpgradingClient implements OwnAnswer {
  readonly socket: Duplex
  readonly #isHead: boolean
  readonly #early: Buffer[]
  #earlyBytes: number

  /** `early` are bytes that came with the head of the request. */
  constructor(socket: Duplex, method: string, early: Buffer) {
    this.socket = socket
    this.#isHead = method === "HEAD"
    this.#early = [early]
    this.#earlyBytes = early.length
    socket.on("data", this.#onData).on("end", this.#onEnd)
  }

  /** Returns the bytes, and stops reading: the caller reads the socket from here on. */
  takeEarlyBytes(): Buffer {
    this.socket.off("data", this.#onData).off("end", this.#onEnd)
    return Buffer.concat(this.#early)
  }

  /** Writes a whole answer and ends the connection. */
  whole(answer: DeniedAnswer, own: readonly string[]): void {
    const { socket } = this
    if (!socket.writable) {
      socket.destroy()
      return
    }
    const head = `${statusLine(answer.status)}${fieldLines(wholeHeaders(answer, own))}connection: close\r\n\r\n`
    socket.end(this.#isHead ? head : head + answer.body, () => socket.destroy())
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#early.push(bytes)
    this.#earlyBytes += bytes.length
    if (this.#earlyBytes > MAX_EARLY_BYTES) this.socket.pause()
  }

  readonly #onEnd = (): void => {
    this.socket.destroy()
  }
}

/** Passes on what one side of a switched connection sends, no faster than the other side receives it. */
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
