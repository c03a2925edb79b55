// A request that may pass, and its answer: sent to a target of its upstream, and its answer to the client as it comes.

import type { Route } from "../routes/route.js"
import type { AnswerHead } from "../upstream/answer-head.js"
import type { SilentUploads } from "../upstream/client-shares.js"
import type { Connection, Exchanging } from "../upstream/connection.js"
import type { Refusal, TakeOptions, Taker } from "../upstream/pool.js"
import type { Target } from "../upstream/upstream.js"
import { answerProblem, type ClientAnswer } from "./client-answer.js"
import { bodyOf, type ClientRequest } from "./client-request.js"
import { type Deadline, DeadlineTimer } from "./deadline-timer.js"
import type { Origin } from "./forwarded-headers.js"
import { answerHeaders } from "./headers.js"
import { failureOf, type GatewayProblem, type OnUpstreamFailure, refusals } from "./problems.js"
import { Relay } from "./relay.js"
import type { RequestContext } from "./request-context.js"
import { type BodyFraming, bodyFraming, expectsContinue, hostFor, requestHead } from "./request-head.js"
import { Upload, UploadPace } from "./upload.js"

const IDEMPOTENT = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
/** Targets that are tried. Nothing was sent to one that refused the connection, so any request may go to another. */
const MAX_TARGETS = 3

export class Exchange implements Exchanging, Taker {
  readonly #context: RequestContext
  readonly #request: ClientRequest
  readonly #clientAnswer: ClientAnswer
  readonly #route: Route
  readonly #framing: BodyFraming
  readonly #path: string
  readonly #origin: Origin
  readonly #onFailure: OnUpstreamFailure | undefined
  readonly #relay: Relay
  readonly #timer: DeadlineTimer
  #target: Target | undefined
  #targets = 0
  #connection: Connection | undefined
  #upload: Upload | undefined
  /** Where it counts as an upload that has sent nothing. */
  #silent: SilentUploads | undefined
  #sentAt = 0
  #isOver = false

  /** `path`: canonical, with its query, as the upstream is to see it. */
  constructor(
    context: RequestContext,
    answer: ClientAnswer,
    route: Route,
    path: string,
    origin: Origin,
    onFailure: OnUpstreamFailure | undefined,
  ) {
    this.#context = context
    this.#request = context.request
    this.#clientAnswer = answer
    this.#route = route
    this.#framing = bodyFraming(context.request)
    this.#path = path
    this.#origin = origin
    this.#onFailure = onFailure
    this.#relay = new Relay(context, answer, () => {
      this.#timer.mark()
      this.#connection?.socket.resume()
    })
    this.#timer = new DeadlineTimer(route.deadlines, performance.now(), (deadline) => this.#expired(deadline))
  }

  start(): void {
    const framing = this.#framing
    const isBodiless = framing === "none" || framing === 0
    // Who waits for leave to send wants to hear from the upstream first.
    if (isBodiless || this.#request.body !== undefined || expectsContinue(this.#request)) {
      this.#pick()
      return
    }
    // Who sends chunks may want to hear from the upstream first.
    if (framing === "chunked" && this.#pickSilently()) return
    // Others get a connection when there is something to send on it.
    this.#timer.enter("bodyIdle", performance.now())
    this.#openUpload(true)
  }

  #pick(): void {
    const target = this.#route.upstream.pick()
    if (target === undefined) this.#answer("UPSTREAM_UNAVAILABLE")
    else this.#use(target, "any")
  }

  /** Takes a connection before there is something to send, if that is still open to anybody. */
  #pickSilently(): boolean {
    const target = this.#route.upstream.pick()
    if (target === undefined || !target.pool.silentUploads.enter()) return false
    this.#silent = target.pool.silentUploads
    this.#use(target, "any")
    return true
  }

  #silentNoMore(): void {
    this.#silent?.leave()
    this.#silent = undefined
  }

  /** The client has its answer, or has gone. */
  abandon(): void {
    this.#timer.stop()
    if (!this.#isOver) this.#leave("answered")
  }

  #use(target: Target, kind: TakeOptions["kind"]): void {
    this.#target = target
    this.#context.target = target
    this.#targets++
    target.begin()
    const { client } = this.#origin
    target.pool.take(this, { connectMs: this.#route.deadlines.connect, kind, client })
  }

  refused(refusal: Refusal, error: Error): void {
    const failed = this.#target as Target
    const problem = refusals[refusal]
    this.#target = undefined
    failed.ended(refusal === "full" ? "answered" : "failed")
    this.#onFailure?.({ origin: failed.origin, problem, error })
    const other = this.#targets < MAX_TARGETS ? this.#route.upstream.pick(failed) : undefined
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
    const head = requestHead({
      request,
      target: this.#path,
      host: hostFor(this.#route, this.#target as Target, this.#context.host),
      origin: this.#origin,
      framing,
      passesMethodOverride: this.#route.passesMethodOverride,
    })
    const { body } = request
    if (framing === "none" || framing === 0 || body !== undefined) {
      if (body === undefined) connection.write(head)
      else this.#send(connection, head, body)
      this.#timer.enter("headers", now)
      connection.sent()
      return
    }
    this.#timer.enter("bodyIdle", now)
    // The first piece of the body is usually here already: it goes out with the head.
    connection.socket.cork()
    connection.write(head)
    process.nextTick(uncork, connection)
    const upload = this.#upload ?? this.#openUpload(!expectsContinue(request))
    upload.start(connection)
  }

  #openUpload(isInvited: boolean): Upload {
    const { uploads, deadlines } = this.#route
    const pace = uploads && new UploadPace(uploads, deadlines.bodyIdle, performance.now())
    const upload = new Upload(bodyOf(this.#request), this.#framing, pace, {
      begun: () => {
        this.#timer.enter(undefined, performance.now())
        this.#pick()
      },
      moved: (bytes) => {
        this.#context.bytesIn += bytes
        this.#silentNoMore()
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

  /** A body that came with its head, and goes out with it. */
  #send(connection: Connection, head: string, body: Buffer): void {
    this.#context.bytesIn += body.length
    connection.socket.cork()
    connection.write(head)
    connection.write(body)
    connection.socket.uncork()
  }

  #sent(): void {
    this.#silentNoMore()
    this.#upload = undefined
    if (!this.#relay.hasHead) this.#timer.enter("headers", performance.now())
  }

  drained(): void {
    this.#timer.mark()
    this.#upload?.drained()
  }

  informed(head: AnswerHead): void {
    if (this.#isOver) return
    if (head.status !== 100) this.#clientAnswer.interim(head.status, answerHeaders(head, []))
    else if (expectsContinue(this.#request)) {
      this.#clientAnswer.interim(100, [])
      this.#upload?.invited()
    }
  }

  switched(): void {
    // Never asked for: the parser has refused it.
  }

  headed(head: AnswerHead): void {
    const now = performance.now()
    this.#context.upstreamMs = now - this.#sentAt
    this.#timer.enter("bodyIdle", now)
    this.#upload?.answered()
    this.#relay.head(head)
  }

  body(bytes: Buffer): void {
    if (!this.#relay.body(bytes)) this.#connection?.socket.pause()
  }

  /** Everything that has come goes out: whoever streams wants it now. */
  paused(): void {
    // A head that comes byte by byte is late all the same.
    if (!this.#relay.hasHead) return
    this.#timer.mark()
    if (!this.#relay.flush()) this.#connection?.socket.pause()
  }

  ended(trailers: readonly string[]): void {
    // An upstream may answer without reading all. Nobody reads the rest then.
    const isRead = this.#upload === undefined
    this.#upload?.stop()
    this.#upload = undefined
    this.#relay.end(trailers, isRead)
    this.#over("answered")
    // The upstream is done. The client still has to take what is left, and not for ever.
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
   * The upstream may end a connection that it takes for idle while our request is on its way to it. Then nothing has come
   * back, and what changes nothing when done twice, and can be sent again whole, is sent again: once, since then on a new one.
   */
  #mayRetry(connection: Connection): boolean {
    const isReused = connection.uses > 1
    const isBodiless = this.#framing === "none" || this.#framing === 0
    const isSafe = isBodiless && IDEMPOTENT.has(this.#request.method)
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

  /** In place of the upstream's answer; where that has begun, all that is left is to cut it. */
  #answer(problem: GatewayProblem): void {
    const context = this.#context
    context.error = problem
    const isUpstreams = problem.startsWith("UPSTREAM_")
    this.#leave(isUpstreams ? "failed" : "answered")
    if (this.#relay.isHeadWritten) this.#clientAnswer.cut()
    else answerProblem(context, this.#clientAnswer, problem)
  }

  /** Done with the upstream, before its answer was over. */
  #leave(outcome: "answered" | "failed"): void {
    const connection = this.#connection
    const target = this.#target
    this.#timer.stop()
    this.#over(outcome)
    if (connection !== undefined) connection.drop()
    else target?.pool.leave(this)
  }

  #over(outcome: "answered" | "failed"): void {
    this.#silentNoMore()
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
