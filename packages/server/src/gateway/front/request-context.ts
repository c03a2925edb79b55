// One request on its way through the gateway, and what is told of it once it is over.

import type { RuleDecision } from "sluice/rules"
import type { Route } from "../routes/route.js"
import type { Target } from "../upstream/upstream.js"
import type { ClientRequest } from "./client-request.js"
import type { Admission } from "./limiting.js"

/** One request through the gateway, once it is over: its last byte is out, or somebody hung up. */
export interface Forwarded {
  /** Undefined when none matched. */
  readonly route: Route | undefined
  /** Undefined when it never came to that: denied, refused, no route, no target. */
  readonly target: Target | undefined
  readonly method: string
  readonly host: string | undefined
  /** Canonical, without the query: a query may hold anything. As it came where it was refused. */
  readonly path: string
  /** `1.1`, `2.0` */
  readonly httpVersion: string
  /** By the trusted proxies, where there are any. */
  readonly clientIp: string | undefined
  readonly referer: string | undefined
  readonly userAgent: string | undefined
  /** What the client was told; 499 when it went away before it was told anything, 101 for an upgrade. */
  readonly status: number
  /** Of bodies, in bytes. */
  readonly bytesIn: number
  readonly bytesOut: number
  readonly durationMs: number
  /** From the moment it was sent to the target until the head of its answer. */
  readonly upstreamMs: number | undefined
  /** How long a queueing limit held it. */
  readonly queuedMs: number
  readonly decision: RuleDecision | undefined
  /** Why the upstream gave no answer, or only half of one: an error code of the gateway. Few and fixed: it is a label. */
  readonly error: string | undefined
}

/** Who is told of what passes the gateway: access log and metrics. */
export interface GatewayWatch {
  ended(event: Forwarded): void
}

/** The client had gone before it was told anything. nginx has this number for it. */
const CLIENT_GONE = 499

export class RequestContext {
  readonly request: ClientRequest
  readonly startedAt = performance.now()
  readonly #watch: GatewayWatch | undefined
  route: Route | undefined
  target: Target | undefined
  admission: Admission | undefined
  host: string | undefined
  path: string
  clientIp: string | undefined
  status = CLIENT_GONE
  bytesIn = 0
  bytesOut = 0
  upstreamMs: number | undefined
  queuedMs = 0
  error: string | undefined
  /** Of the upstream's answer, by lower-case name; only where the admission wants to know them. */
  answerHeaders: Record<string, string> | undefined
  answerTrailers: Record<string, string> | undefined
  #isOver = false

  constructor(request: ClientRequest, watch: GatewayWatch | undefined) {
    this.request = request
    this.path = request.url
    this.#watch = watch
  }

  /** Headers of ours on the answer, whoever gives it. A list of the caller's own. */
  ownHeaders(): string[] {
    return [...(this.admission?.headers ?? [])]
  }

  /** Its last byte is out, or somebody hung up: now, by `performance.now()`. Only the first call counts. */
  over(now: number): void {
    if (this.#isOver) return
    this.#isOver = true
    const { admission, request, status } = this
    // Who left before any answer has had what he asked for, for all that anybody knows: the charge stays.
    if (admission?.mustSettle === true && admission.allowed && status !== CLIENT_GONE)
      admission.settle(status, this.answerHeaders, this.answerTrailers)
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
      durationMs: now - this.startedAt,
      upstreamMs: this.upstreamMs,
      queuedMs: this.queuedMs,
      decision: admission?.decision,
      error: this.error,
    })
  }
}
