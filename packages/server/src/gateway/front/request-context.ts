// What is known of one request on its way through the gateway, and the event for the access log and metrics at its end.

import type { RuleDecision } from "sluice/rules"
import type { Route } from "../routes/route.js"
import type { Target } from "../upstream/target.js"
import type { BodyStart } from "./body-start.js"
import type { ClientRequest } from "./client-request.js"
import type { ClientIdentity } from "./forwarded-headers.js"
import type { Admission } from "./limiting.js"
import type { UsageReader } from "./response-usage.js"

/** A request that is over: its last byte is sent, or the client or the upstream disconnected. */
export interface Forwarded {
  /** Undefined when no route matched. */
  readonly route: Route | undefined
  /** Undefined when the request was not forwarded. */
  readonly target: Target | undefined
  readonly method: string
  readonly host: string | undefined
  /** The canonical path without the query, which may hold secrets; the path as sent where it was refused. */
  readonly path: string
  /** `1.1`, `2.0` */
  readonly httpVersion: string
  /** As the trusted proxies report it, where there are any. */
  readonly clientIp: string | undefined
  readonly referer: string | undefined
  readonly userAgent: string | undefined
  /** The status of the answer; 499 when the client disconnected before it, 101 for an upgrade. */
  readonly status: number
  /** The lengths of the bodies. */
  readonly bytesIn: number
  readonly bytesOut: number
  readonly durationMs: number
  /** From sending the request to the target until the head of its answer. */
  readonly upstreamMs: number | undefined
  /** How long the delay queue held the request. */
  readonly queuedMs: number
  readonly decision: RuleDecision | undefined
  /** An error code of the gateway where the upstream gave no answer, or not all of one. A metrics label: the set is fixed. */
  readonly error: string | undefined
}

/** Receives an event for each request that is over: access log and metrics. */
export interface GatewayWatch {
  ended(event: Forwarded): void
}

/** Where the gateway forwards a request to, and for whom. */
export interface Destination {
  readonly route: Route
  /** The canonical path with its query, which the rules match. */
  readonly path: string
  /** The same without the prefix that the route strips. */
  readonly upstreamPath: string
  readonly client: ClientIdentity
}

/** Carries one request to its upstream, and the answer back. */
export interface Forwarding {
  start(): void
  /** The client has its answer, or has disconnected. */
  abandon(): void
}

/** The client disconnected before it was answered. nginx uses this number. */
const CLIENT_GONE = 499
const NO_HEADERS: readonly string[] = []

export class RequestContext {
  readonly request: ClientRequest
  readonly #startedAt = performance.now()
  readonly #watch: GatewayWatch | undefined
  route: Route | undefined
  target: Target | undefined
  admission: Admission | undefined
  forwarding: Forwarding | undefined
  host: string | undefined
  path: string
  clientIp: string | undefined
  status = CLIENT_GONE
  bytesIn = 0
  bytesOut = 0
  upstreamMs: number | undefined
  queuedMs = 0
  error: string | undefined
  /** The headers of the upstream's answer by lower-case name; set only where the admission needs them. */
  answerHeaders: Record<string, string> | undefined
  answerTrailers: Record<string, string> | undefined
  /** Reads the body of the answer, where rules charge by it. */
  usage: UsageReader | undefined
  /** Whether the upstream's answer has ended as it should. */
  isAnswered = false
  /** The beginning of the request's body, where rules charge by it. */
  bodyStart: BodyStart | undefined
  #isOver = false
  #controller: AbortController | undefined

  constructor(request: ClientRequest, watch: GatewayWatch | undefined) {
    this.request = request
    this.path = request.url
    this.#watch = watch
  }

  /** The rate limit headers for the answer: name, value, name, value, names in lower case. Do not change the list. */
  get limitHeaders(): readonly string[] {
    return this.admission?.headers ?? NO_HEADERS
  }

  /** Whether the client has its answer, or has disconnected. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Aborted when the request is over. Made when it is asked for: few requests need it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    return this.#controller.signal
  }

  /** Ends the request. Only the first call counts. */
  over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.forwarding?.abandon()
    // Without this, requests survive the collections of young objects, and throughput falls by a third.
    this.forwarding = undefined
    this.#controller?.abort()
    const { admission, request, status } = this
    // The upstream may have done the work for a client that disconnected before the answer: the charge stays, and what the
    // request holds is free.
    if (admission?.mustSettle === true && admission.allowed) {
      const ending = status === CLIENT_GONE ? "aborted" : status
      const usage = this.usage?.end(this.isAnswered)
      admission.settle(ending, this.answerHeaders, this.answerTrailers, usage)
    }
    this.bodyStart?.release()
    this.#watch?.ended({
      route: this.route,
      target: this.target,
      method: request.method,
      host: this.host,
      path: this.path,
      httpVersion: request.httpVersion,
      clientIp: this.clientIp,
      referer: request.headers.referer,
      userAgent: request.headers["user-agent"],
      status,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      durationMs: performance.now() - this.#startedAt,
      upstreamMs: this.upstreamMs,
      queuedMs: this.queuedMs,
      decision: admission?.decision,
      error: this.error,
    })
  }
}
