// WebSocket and other upgrades: the upstream is asked to switch, and from then on bytes go both ways as they come.

import type { Duplex } from "node:stream"
import type { Route } from "../routes/route.js"
import type { AnswerHead } from "../upstream/answer-head.js"
import type { Connection, Exchanging } from "../upstream/connection.js"
import type { Refusal, Taker } from "../upstream/pool.js"
import type { Target } from "../upstream/upstream.js"
import { answerHeaders } from "./answer-headers.js"
import type { ClientRequest } from "./client-request.js"
import { type Deadline, DeadlineTimer } from "./deadline-timer.js"
import type { EarlyBytes } from "./early-bytes.js"
import type { Origin } from "./forwarded-headers.js"
import type { GatewayProblem } from "./problem.js"
import { endWithProblem, rawHead } from "./raw-answer.js"
import type { Visit } from "./request-context.js"
import { hostFor, requestHead } from "./request-head.js"
import { join } from "./tunnel.js"
import { type OnUpstreamFailure, problemOf, refusals } from "./upstream-failure.js"

export class Upgrade implements Exchanging, Taker {
  readonly #visit: Visit
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
    visit: Visit,
    socket: Duplex,
    early: EarlyBytes,
    route: Route,
    path: string,
    origin: Origin,
    onFailure: OnUpstreamFailure | undefined,
  ) {
    this.#visit = visit
    this.#request = visit.request
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
    this.#visit.target = target
    target.begin()
    target.pool.take(this, { connectMs: this.#route.deadlines.connect, kind: "alone" })
  }

  /** The client has gone. */
  abandon(): void {
    if (!this.#isOver) this.#over("answered")
  }

  refused(refusal: Refusal, error: Error): void {
    if (!this.#isOver) this.#fail(refusals[refusal], error)
  }

  connected(connection: Connection): void {
    // It cannot be called off while it is being opened.
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
        host: hostFor(this.#route, this.#target as Target, this.#visit.host),
        origin: this.#origin,
        framing: "none",
        passesMethodOverride: this.#route.passesMethodOverride,
        upgrade,
      }),
    )
    connection.sent()
  }

  switched(head: AnswerHead, rest: Buffer): void {
    const visit = this.#visit
    const upstream = (this.#connection as Connection).detach()
    this.#timer.stop()
    this.#answered(head, ["connection", "upgrade", "upgrade", protocolOf(head)])
    const early = this.#early.take()
    if (rest.length > 0) this.#socket.write(rest)
    if (early.length > 0) upstream.write(early)
    visit.bytesIn += early.length
    visit.bytesOut += rest.length
    join(this.#socket, upstream, {
      toUpstream: (bytes) => {
        visit.bytesIn += bytes
      },
      toClient: (bytes) => {
        visit.bytesOut += bytes
      },
    })
  }

  /** The upstream does not switch: its answer goes to the client, and the connection ends with it. */
  headed(head: AnswerHead): void {
    this.#timer.enter("bodyIdle", performance.now())
    // Its chunks are undone, so only the end of the connection can say where it ends.
    this.#answered(head, ["connection", "close"])
  }

  body(bytes: Buffer): void {
    this.#visit.bytesOut += bytes.length
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
    // Nobody asked for it.
  }

  paused(): void {
    // Everything has gone out as it came.
  }

  drained(): void {
    // The head is all that was written.
  }

  failed(error: Error): void {
    this.#connection = undefined
    if (!this.#isOver) this.#fail(problemOf(error), error)
  }

  #answered(head: AnswerHead, framing: readonly string[]): void {
    const visit = this.#visit
    visit.status = head.status
    visit.upstreamMs = performance.now() - this.#sentAt
    this.#hasAnswer = true
    const headers = answerHeaders(head, visit.ownHeaders())
    this.#socket.write(rawHead(head.status, head.reason, [...headers, ...framing]), "latin1")
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
    const visit = this.#visit
    visit.error = problem
    this.#over("failed")
    if (this.#hasAnswer) {
      this.#socket.destroy()
      return
    }
    const { status, bytes } = endWithProblem(this.#socket, problem, visit.ownHeaders())
    visit.status = status
    visit.bytesOut = bytes
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
