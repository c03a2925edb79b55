// One request on its way through the gateway, and what is told of it once it is over.

import type { Route } from "../routes/route.js"
import type { Target } from "../upstream/upstream.js"
import type { ClientRequest } from "./client-request.js"
import type { GatewayWatch } from "./gateway-watch.js"
import type { Admission } from "./limiting.js"

/** The client had gone before it was told anything. nginx has this number for it. */
const CLIENT_GONE = 499

export class Visit {
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
    this.path = request.url ?? ""
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
      method: request.method ?? "",
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
