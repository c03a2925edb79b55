// One request that a middleware or the gateway has decided about: from its decision to the end of its response.

import { schedulingClock } from "../../clock.js"
import type { AcquiredDecision, Hold } from "../../limiter/holds.js"
import type { Limiter } from "../../limiter/limiter.js"
import { warn } from "../../notify.js"
import type { HeaderSource } from "../../request/header-source.js"
import type { AnsweredRequest } from "../../rules/engine/response-charge.js"
import type { ResponseReader, ResponseUsage } from "../../usage/response-reader.js"
import type { DelayQueue } from "./delay-queue.js"
import { type DeniedAnswer, deniedAnswer } from "./denied-answer.js"
import type { AnyRateLimitOptions, DeniedBody, RequestDecision, RequestRules } from "./rate-limit-options.js"

/** The part of a hold after which it is extended. */
const EXTEND_AFTER = 1 / 3

/** How a request ended: with the status of its response, or without a response. */
export type Ending = number | "aborted" | "error"

/** What the body of a response has said of its cost. A promise never rejects. */
type Usage = ResponseUsage | Promise<ResponseUsage> | undefined

/** What all admissions of one middleware, or of one gateway, share. */
export interface AdmissionContext<Request> {
  /** How denials are answered, and which requests do not count. */
  readonly options: AnyRateLimitOptions<Request>
  /** What made the charges: either a limiter or rules. */
  readonly limiter?: Limiter | undefined
  readonly rules?: RequestRules | undefined
  readonly delayQueue: DelayQueue
  /** Called when a refund or a charge by the response fails. Both run in the background. */
  readonly onError: (error: unknown) => void
}

/**
 * Takes a place in the delay queue when the decision delays its request. If the queue is full, takes the charge back and
 * returns a decision that denies the request.
 */
export function reserveDelay<Request, Made extends RequestDecision>(
  context: AdmissionContext<Request>,
  decision: Made,
  key: string | undefined,
  cost: number,
): Made {
  if (!(decision.delayMs > 0) || context.delayQueue.reserve()) return decision
  refundCharge(context, decision, key, cost)
  const policies = "reason" in decision ? decision.policies : (context.limiter?.policies ?? [])
  return {
    ...decision,
    allowed: false,
    retryAfterMs: decision.delayMs,
    delayMs: 0,
    deniedBy: policies.length === 1 ? policies[0]?.name : "queue",
    ...("reason" in decision ? { reason: "limit" } : {}),
  } as Made
}

/** One request and the decision about it. `headers` go on its response, whether it was allowed or denied. */
export class Admission<Request = unknown, Made extends RequestDecision = RequestDecision> {
  readonly request: Request
  readonly decision: Made
  /** Name, value, name, value. They include the limits of middlewares that the request met earlier. */
  readonly headers: readonly string[]
  /** Undefined when rules decided. */
  readonly key: string | undefined
  readonly cost: number
  readonly #context: AdmissionContext<Request>
  readonly #body: DeniedBody | undefined
  #isRefunded = false
  #isSettled = false
  #stopExtending: (() => void) | undefined

  /** `body` is that of a denial, as the options say. */
  constructor(
    context: AdmissionContext<Request>,
    request: Request,
    decision: Made,
    headers: readonly string[],
    key: string | undefined,
    cost: number,
    body?: DeniedBody,
  ) {
    this.#context = context
    this.#body = body
    this.request = request
    this.decision = decision
    this.headers = headers
    this.key = key
    this.cost = cost
  }

  get allowed(): boolean {
    return this.decision.allowed
  }

  /** The response to a denied request; undefined when it is allowed. Built on each access: applications may have their own. */
  get denied(): DeniedAnswer | undefined {
    if (this.decision.allowed) return undefined
    const { status, contentType } = this.#context.options
    return deniedAnswer({ status, contentType, body: this.#body }, this.decision)
  }

  /** How long to delay the request. When it is not 0, call `delay` before the request goes on. */
  get delayMs(): number {
    return this.decision.delayMs
  }

  /**
   * Waits for the turn of a request that a queueing leaky bucket has admitted. Resolves to false when `signal` aborts first:
   * the client is gone, its charge is taken back, and no response is needed.
   */
  async delay(signal?: AbortSignal): Promise<boolean> {
    const isDue = await this.#context.delayQueue.wait(this.decision, this.key, signal)
    if (!isDue) this.#refund()
    return isDue
  }

  /** Whether `settle` needs to be called at the end of the request. If not, nobody has to listen for it. */
  get mustSettle(): boolean {
    return (this.#mayBeForgiven && this.#isCharged) || this.#isChargedByResponse || this.#hold !== undefined
  }

  /** Whether the request holds a place that `settle` frees. */
  get holds(): boolean {
    return this.#held !== undefined
  }

  /**
   * The answer has switched the connection to another protocol. Frees what rules do not hold for such connections, and extends
   * the rest until `settle`, which is then due when the connection closes. A connection that lost its hold, because the store
   * was away for longer than that, goes on and is not counted.
   */
  upgraded(): void {
    if (this.#isSettled || !this.holds) return
    const decision: RequestDecision = this.decision
    const { rules, onError, options } = this.#context
    if ("reason" in decision) rules?.releaseAtUpgrade?.(decision).catch(onError)
    const held = this.#held
    if (held === undefined) return
    const clock = schedulingClock(options.clock)
    const extend = async (): Promise<void> => {
      const isHeld = await ("reason" in decision ? rules?.extend?.(decision) : this.#hold?.extend())
      if (isHeld === true && !this.#isSettled) next()
    }
    const next = (): void => {
      this.#stopExtending = clock.schedule(held.holdMs * EXTEND_AFTER, () => {
        // After a failure of the store there are more tries before the hold ends.
        extend().catch((error: unknown) => {
          onError(error)
          if (!this.#isSettled) next()
        })
      })
    }
    next()
  }

  /** A reader for the body of the response, if rules charge by it: write the body to it, and give `settle` its result. */
  responseReader(contentType: string | undefined): ResponseReader | undefined {
    const decision: RequestDecision = this.decision
    return "reason" in decision && decision.allowed
      ? this.#context.rules?.responseReader?.(decision, contentType)
      : undefined
  }

  /**
   * Takes the charge back or corrects it, as the options and the rules say for this ending. `headers` are those of the
   * response, `trailers` too, and `usage` is what the reader of its body has found. Only the first call counts.
   */
  settle(ending: Ending, headers?: HeaderSource, trailers?: HeaderSource, usage?: Usage): void {
    if (this.#isSettled || !this.mustSettle) return
    this.#isSettled = true
    this.#stopExtending?.()
    this.#release()
    const isSuccess = this.#isSuccess(ending)
    const status = typeof ending === "number" ? ending : undefined
    if (typeof isSuccess === "boolean" && !(usage instanceof Promise))
      this.#settleAs(isSuccess, { status, headers, trailers, usage })
    else
      void Promise.all([isSuccess, usage]).then(([known, found]) =>
        this.#settleAs(known, { status, headers, trailers, usage: found }),
      )
  }

  #settleAs(isSuccess: boolean, response: AnsweredRequest): void {
    const decision: RequestDecision = this.decision
    const { options, rules, onError } = this.#context
    const isForgiven = isSuccess ? options.skipSuccessfulRequests : options.skipFailedRequests
    if (isForgiven === true) this.#refund()
    // A client that has disconnected may have received a part of the response.
    else if ("reason" in decision && (response.status !== undefined || response.usage !== undefined))
      rules?.settle?.(decision, response).catch(onError)
  }

  get #mayBeForgiven(): boolean {
    const { skipFailedRequests, skipSuccessfulRequests } = this.#context.options
    return skipFailedRequests === true || skipSuccessfulRequests === true
  }

  /** An error of the application's function becomes a warning: this runs when the response closes, where nobody catches it. */
  #isSuccess(ending: Ending): boolean | Promise<boolean> {
    if (typeof ending !== "number") return false
    const { options } = this.#context
    const byStatus = ending < 400
    const onError = (error: unknown): boolean => {
      warn(error, options.logger)
      return byStatus
    }
    try {
      const own = options.requestWasSuccessful?.(this.request, ending)
      return typeof own === "object" ? Promise.resolve(own).catch(onError) : (own ?? byStatus)
    } catch (error) {
      return onError(error)
    }
  }

  get #isChargedByResponse(): boolean {
    const decision: RequestDecision = this.decision
    return "reason" in decision && decision.allowed && this.#context.rules?.mustSettle?.(decision) === true
  }

  /** What the request holds, by rules or by a limiter. */
  get #held(): { readonly holdMs: number } | undefined {
    const decision: RequestDecision = this.decision
    return "reason" in decision ? this.#context.rules?.holdOf?.(decision) : this.#hold
  }

  /** What a limiter of concurrency holds for this request. */
  get #hold(): Hold | undefined {
    return (this.decision as AcquiredDecision).hold
  }

  /** Frees what the request holds, in the background. What cannot be freed ends by itself. */
  #release(): void {
    const { rules, onError } = this.#context
    const decision: RequestDecision = this.decision
    const released = "reason" in decision ? rules?.release?.(decision) : this.#hold?.release()
    released?.catch(onError)
  }

  /** False when the store failed and the request was allowed without a charge. */
  get #isCharged(): boolean {
    const { allowed, degraded } = this.decision
    return allowed && this.cost > 0 && degraded !== "allow"
  }

  #refund(): void {
    if (this.#isRefunded || !this.#isCharged) return
    this.#isRefunded = true
    refundCharge(this.#context, this.decision, this.key, this.cost)
  }
}

/** Runs in the background. A charge that cannot be taken back expires by itself. */
function refundCharge<Request>(
  { limiter, rules, onError }: AdmissionContext<Request>,
  decision: RequestDecision,
  key: string | undefined,
  cost: number,
): void {
  const { hold } = decision as AcquiredDecision
  const refund =
    "reason" in decision
      ? rules?.refund(decision)
      : (hold?.release() ?? limiter?.refund(key as string, cost, decision))
  refund?.catch(onError)
}
