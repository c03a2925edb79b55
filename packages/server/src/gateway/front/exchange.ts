// Forwards one admitted request to a target of its upstream, and streams the answer back to the client.

import type { AnswerHead } from "../upstream/answer-parser.js"
import type { SilentUploads } from "../upstream/client-shares.js"
import type { Connection, ExchangeListener } from "../upstream/connection.js"
import type { Refusal, TakeOptions, Taker } from "../upstream/pool.js"
import type { Target } from "../upstream/target.js"
import { answerProblem, type ClientAnswer } from "./client-answer.js"
import {
  type BodyFraming,
  bodyFraming,
  bodyOf,
  type ClientRequest,
  expectsContinue,
  isBodiless,
} from "./client-request.js"
import { type Deadline, DeadlineTimer } from "./deadline-timer.js"
import { answerHeaders, hostFor, requestHead } from "./headers.js"
import { failureOf, type GatewayProblem, type OnUpstreamFailure, refusals } from "./problems.js"
import { Relay } from "./relay.js"
import type { Destination, Forwarding, RequestContext } from "./request-context.js"
import { Upload, UploadPace } from "./upload.js"

const IDEMPOTENT = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
/** Targets tried for one request. A target that refused the connection has received nothing, so another one may be tried. */
const MAX_TARGETS = 3

export class Exchange implements Forwarding, ExchangeListener, Taker {
  readonly #context: RequestContext
  readonly #request: ClientRequest
  readonly #clientAnswer: ClientAnswer
  readonly #destination: Destination
  readonly #framing: BodyFraming
  readonly #onFailure: OnUpstreamFailure | undefined
  readonly #relay: Relay
  readonly #timer: DeadlineTimer
  #target: Target | undefined
  #targets = 0
  #connection: Connection | undefined
  #upload: Upload | undefined
  /** Counts this request while its body has not started to arrive. */
  #silentUploads: SilentUploads | undefined
  #sentAt = 0
  #isOver = false

  constructor(
    context: RequestContext,
    answer: ClientAnswer,
    destination: Destination,
    onFailure: OnUpstreamFailure | undefined,
  ) {
    this.#context = context
    this.#request = context.request
    this.#clientAnswer = answer
    this.#destination = destination
    this.#framing = bodyFraming(context.request)
    this.#onFailure = onFailure
    this.#relay = new Relay(context, answer, () => {
      this.#timer.mark()
      this.#connection?.socket.resume()
    })
    const { deadlines } = destination.route
    this.#timer = new DeadlineTimer(deadlines, performance.now(), (deadline) => this.#expired(deadline))
  }

  start(): void {
    const framing = this.#framing
    // A client that expects 100-continue waits for the upstream's word before it sends its body.
    if (isBodiless(framing) || this.#request.body !== undefined || expectsContinue(this.#request)) {
      this.#pick()
      return
    }
    // A client that sends chunks may wait for the upstream's answer before it sends the first one.
    if (framing === "chunked" && this.#pickSilently()) return
    // All others get an upstream connection when the first bytes of the body arrive.
    this.#timer.enter("bodyIdle", performance.now())
    this.#openUpload(true)
  }

  #pick(): void {
    const target = this.#destination.route.upstream.pick()
    if (target === undefined) this.#answer("UPSTREAM_UNAVAILABLE")
    else this.#use(target, "any")
  }

  /** Takes a connection before the body starts to arrive. Returns false when too many uploads do so already. */
  #pickSilently(): boolean {
    const target = this.#destination.route.upstream.pick()
    if (target === undefined || !target.pool.silentUploads.enter()) return false
    this.#silentUploads = target.pool.silentUploads
    this.#use(target, "any")
    return true
  }

  #leaveSilentUploads(): void {
    this.#silentUploads?.leave()
    this.#silentUploads = undefined
  }

  abandon(): void {
    this.#timer.stop()
    if (!this.#isOver) this.#leave("answered")
  }

  #use(target: Target, kind: TakeOptions["kind"]): void {
    this.#target = target
    this.#context.target = target
    this.#targets++
    target.begin()
    const { route, client } = this.#destination
    target.pool.take(this, { connectMs: route.deadlines.connect, kind, client: client.key })
  }

  refused(refusal: Refusal, error: Error): void {
    const failed = this.#target as Target
    const problem = refusals[refusal]
    this.#target = undefined
    failed.ended(refusal === "full" ? "answered" : "failed")
    this.#onFailure?.({ origin: failed.origin, problem, error })
    const other = this.#targets < MAX_TARGETS ? this.#destination.route.upstream.pick(failed) : undefined
    if (other === undefined || other === failed) this.#answer(problem)
    else this.#use(other, "any")
  }

  connected(connection: Connection): void {
    const request = this.#request
    const framing = this.#framing
    this.#connection = connection
    connection.begin(this, { isHead: request.method === "HEAD", isUpgrade: false })
    const now = performance.now()
    this.#sentAt = now
    const host = hostFor(this.#destination.route, this.#target as Target, this.#context.host)
    const head = requestHead(request, this.#destination, host, framing)
    const { body } = request
    if (isBodiless(framing) || body !== undefined) {
      if (body === undefined) connection.write(head)
      else this.#send(connection, head, body)
      this.#timer.enter("headers", now)
      connection.sent()
      return
    }
    this.#timer.enter("bodyIdle", now)
    // The first piece of the body has usually arrived: it is sent together with the head.
    connection.socket.cork()
    connection.write(head)
    process.nextTick(uncork, connection)
    const upload = this.#upload ?? this.#openUpload(!expectsContinue(request))
    upload.start(connection)
  }

  #openUpload(isInvited: boolean): Upload {
    const { uploads, deadlines } = this.#destination.route
    const pace = uploads && new UploadPace(uploads, deadlines.bodyIdle, performance.now())
    const upload = new Upload(this.#context.bodyStart?.body ?? bodyOf(this.#request), this.#framing, pace, {
      begun: () => {
        this.#timer.enter(undefined, performance.now())
        this.#pick()
      },
      moved: (bytes) => {
        this.#context.bytesIn += bytes
        this.#leaveSilentUploads()
        this.#timer.mark()
      },
      sent: () => this.#sent(),
      miscounted: () => this.#answer("REQUEST_INVALID"),
      tooSlow: () => this.#answer("REQUEST_TIMEOUT"),
    })
    this.#upload = upload
    upload.open(isInvited)
    return upload
  }

  /** Sends a body that arrived with its head in one write. */
  #send(connection: Connection, head: string, body: Buffer): void {
    this.#context.bytesIn += body.length
    connection.socket.cork()
    connection.write(head)
    connection.write(body)
    connection.socket.uncork()
  }

  #sent(): void {
    this.#leaveSilentUploads()
    this.#upload = undefined
    if (!this.#relay.hasHead) this.#timer.enter("headers", performance.now())
  }

  drained(): void {
    this.#timer.mark()
    this.#upload?.drained()
  }

  interim(head: AnswerHead): void {
    if (this.#isOver) return
    if (head.status !== 100) this.#clientAnswer.interim(head.status, answerHeaders(head, []))
    else if (expectsContinue(this.#request)) {
      this.#clientAnswer.interim(100, [])
      this.#upload?.invited()
    }
  }

  switched(): void {
    // The parser refuses a 101 answer that was not asked for.
  }

  head(head: AnswerHead): void {
    const now = performance.now()
    this.#context.upstreamMs = now - this.#sentAt
    this.#timer.enter("bodyIdle", now)
    this.#upload?.answered()
    this.#relay.head(head)
  }

  body(bytes: Buffer): void {
    if (!this.#relay.body(bytes)) this.#connection?.socket.pause()
  }

  /** Nothing more has arrived for now: writes out everything that has, for clients that read a stream. */
  paused(): void {
    // A part of a head does not extend the deadline.
    if (!this.#relay.hasHead) return
    this.#timer.mark()
    if (!this.#relay.flush()) this.#connection?.socket.pause()
  }

  ended(trailers: readonly string[]): void {
    // An upstream may answer before it has read the whole request. The rest is dropped then.
    const isRead = this.#upload === undefined
    this.#upload?.stop()
    this.#upload = undefined
    this.#relay.end(trailers, isRead)
    this.#over("answered")
    // The client still has to receive the rest of the answer, within the deadline.
    this.#timer.enter("bodyIdle", performance.now())
  }

  failed(error: Error): void {
    if (this.#isOver) return
    const connection = this.#connection as Connection
    this.#connection = undefined
    if (this.#mayRetry(connection)) {
      const target = this.#target as Target
      target.ended("answered")
      this.#use(target, "fresh")
      return
    }
    const problem = failureOf(error)
    this.#report(problem, error)
    this.#answer(problem)
  }

  /**
   * Whether the request is sent once more, on a new connection. An upstream may close an idle connection while a request is on
   * its way. If no byte of an answer has arrived, an idempotent request without a body is safe to repeat.
   */
  #mayRetry(connection: Connection): boolean {
    const isReused = connection.uses > 1
    const isSafe = isBodiless(this.#framing) && IDEMPOTENT.has(this.#request.method)
    return isReused && isSafe && !connection.hasAnswerBytes
  }

  #expired(deadline: Deadline): void {
    if (this.#isOver) {
      this.#context.error = "REQUEST_TIMEOUT"
      this.#clientAnswer.cut()
      return
    }
    const isClients =
      deadline === "bodyIdle" && (this.#relay.hasHead ? this.#relay.awaitsClient : this.#awaitsClient())
    if (isClients) {
      this.#answer("REQUEST_TIMEOUT")
      return
    }
    this.#report("UPSTREAM_TIMEOUT", new Error(`no answer within the deadline "${deadline}"`))
    this.#answer("UPSTREAM_TIMEOUT")
  }

  #awaitsClient(): boolean {
    return this.#upload !== undefined && !this.#upload.isWaiting
  }

  #report(problem: GatewayProblem, error: Error): void {
    const origin = this.#target?.origin
    if (origin !== undefined) this.#onFailure?.({ origin, problem, error })
  }

  /** Answers in place of the upstream, or cuts the answer if it has begun. */
  #answer(problem: GatewayProblem): void {
    this.#context.error = problem
    const isUpstreams = problem.startsWith("UPSTREAM_")
    this.#leave(isUpstreams ? "failed" : "answered")
    if (this.#relay.isHeadWritten) this.#clientAnswer.cut()
    else answerProblem(this.#context, this.#clientAnswer, problem)
  }

  /** Gives up the upstream connection before its answer is complete. */
  #leave(outcome: "answered" | "failed"): void {
    const connection = this.#connection
    const target = this.#target
    this.#timer.stop()
    this.#over(outcome)
    if (connection !== undefined) connection.drop()
    else target?.pool.leave(this)
  }

  #over(outcome: "answered" | "failed"): void {
    this.#leaveSilentUploads()
    this.#isOver = true
    this.#upload?.stop()
    this.#upload = undefined
    this.#connection = undefined
    const target = this.#target
    this.#target = undefined
    target?.ended(outcome)
  }
}

function uncork(connection: Connection): void {
  connection.socket.uncork()
}
