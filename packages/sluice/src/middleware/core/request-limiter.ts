// The part that all middlewares share: it turns a framework's request into a decision with headers and a response.

import { checkKey, costOf } from "../../call-options.js"
import { systemClock } from "../../clock.js"
import type { Decision } from "../../decision.js"
import { Mistakes, SluiceError } from "../../errors.js"
import { getOrCache } from "../../get-or-add.js"
import type { HeaderPolicy } from "../../header-style.js"
import type { Limiter } from "../../limiter/limiter.js"
import { notify, warn } from "../../notify.js"
import { checkObject } from "../../options.js"
import { compileTrustProxy } from "../../request/address/trust-proxy.js"
import type { RuleRequest } from "../../rules/identity/rule-request.js"
import { CustomHeaders } from "../headers/custom-headers.js"
import { headerList } from "../headers/headers.js"
import { mergeShownLimits } from "../headers/merged-headers.js"
import { Admission, type AdmissionContext, reserveDelay } from "./admission.js"
import { DelayQueue } from "./delay-queue.js"
import {
  type AnyRateLimitOptions,
  checkRateLimitOptions,
  limiterOf,
  type RateLimitOptions,
  type RequestDecision,
  type RequestRules,
} from "./rate-limit-options.js"
import { AmbiguousKey, type ClientAddress, compileKeyBy, IpKeys, ipOf } from "./request-key.js"
import { hostOf, type RequestReader } from "./request-reader.js"
import { RequestWarnings } from "./request-warnings.js"

type MaybePromise<T> = T | Promise<T>

const DEFAULT_MAX_HELD = 1_000
/** The `retryAfterMs` of a denial because the store threw an error. Nobody knows when the store recovers. */
const STORE_FAILURE_RETRY_MS = 1_000
const NO_HEADERS: readonly string[] = []
/** How many limits of a `limit` function have their header texts cached. Applications have a handful of plans. */
const MAX_LIMITS = 1_024

/** What to ask the limiter or the engine about a request. */
interface Asked {
  /** A key, or what the rules need. Undefined if the key is ambiguous. */
  readonly subject: string | RuleRequest | undefined
  /** Undefined for the default. */
  readonly cost: number | undefined
  /** Of a `limit` function. */
  readonly limit?: number
}

/** Limits the requests of one middleware. It returns promises only where something has to be waited for. */
export class RequestLimiter<Request extends object> {
  /** The property that middlewares put the decision into. */
  readonly property: string
  readonly #context: AdmissionContext<Request>
  /** Of the limiter, read once: `limiter.policies` is a new array each time, and header texts are cached by the array. */
  readonly #policies: readonly HeaderPolicy[]
  /** Whether a limit is of concurrency. */
  readonly #mustAcquire: boolean
  /** The same for each limit that a `limit` function has returned. */
  readonly #policiesByLimit = new Map<number, readonly HeaderPolicy[]>()
  readonly #reader: RequestReader<Request>
  readonly #address: ClientAddress<Request>
  readonly #keyOf: (
    request: Request,
    user: string | undefined,
  ) => MaybePromise<string | undefined> | AmbiguousKey
  /** The key of a request without one. */
  readonly #fallbackKeyOf: (request: Request) => string | undefined
  /** Undefined if the application has neither headers nor names of headers of its own. */
  readonly #customHeaders: CustomHeaders<Request, RequestDecision> | undefined
  readonly #warnings: RequestWarnings<Request>
  #hasWarned = false

  /** Throws one error with every mistake in the options. `adapterFields`: functions that only the framework's middleware knows. */
  constructor(
    options: RateLimitOptions<Request>,
    reader: RequestReader<Request>,
    adapterFields: readonly string[] = [],
  ) {
    checkObject(options, "rateLimit")
    const mistakes = new Mistakes()
    const given = options as AnyRateLimitOptions<Request>
    mistakes.try(() => checkRateLimitOptions(options, adapterFields))
    const { trustProxy, proxyHeader, engine } = given
    const trusted = mistakes.try(() =>
      trustProxy === undefined
        ? undefined
        : compileTrustProxy(trustProxy, { header: proxyHeader, place: "rateLimit.trustProxy" }),
    )
    this.#reader = reader
    this.#address = { reader, trusted }
    const ips = new IpKeys(this.#address, given.ipv6Subnet)
    const byParts = mistakes.try(() =>
      compileKeyBy(given.keyBy ?? "ip", reader, ips, given.user !== undefined),
    )
    // Last, because a limiter has to be closed.
    const limiter = engine === undefined ? mistakes.try(() => limiterOf(given)) : undefined
    throwWith(mistakes, limiter === given.limiter ? undefined : limiter)
    this.#context = {
      options: given,
      rules: engine,
      limiter,
      delayQueue: new DelayQueue(given.maxHeld ?? DEFAULT_MAX_HELD, given.clock),
      onError: () => {},
    }
    this.property = given.requestProperty ?? "rateLimit"
    this.#policies = limiter?.policies ?? []
    this.#mustAcquire = this.#policies.some(({ unit }) => unit === "concurrent-requests")
    this.#warnings = new RequestWarnings(this.#address, given.logger)
    this.#customHeaders =
      given.headerNames === undefined && given.extraHeaders === undefined
        ? undefined
        : new CustomHeaders(given)
    this.#keyOf = given.key ?? (byParts as NonNullable<typeof byParts>)
    this.#fallbackKeyOf = given.onMissingKey === "skip" ? () => undefined : (request) => ips.keyOf(request)
  }

  /**
   * Decides about a request and charges it. Returns undefined for a request that is not limited. Throws or rejects only with
   * errors of the application's own functions, and when they return an invalid key or cost.
   */
  admit(request: Request): MaybePromise<Admission<Request> | undefined> {
    const { skip } = this.#context.options
    if (skip === undefined) return this.#findUser(request)
    return after(skip(request), (isSkipped) => (isSkipped ? undefined : this.#findUser(request)))
  }

  /** How many requests the delay queue holds now. */
  get held(): number {
    return this.#context.delayQueue.size
  }

  /** Closes the limiter if the middleware created it. A limiter from the options stays open. */
  async close(): Promise<void> {
    const { options, limiter } = this.#context
    if (options.limiter === undefined) await limiter?.close()
  }

  #findUser(request: Request): MaybePromise<Admission<Request> | undefined> {
    const { user } = this.#context.options
    if (user === undefined) return this.#findKey(request, undefined)
    return after(user(request), (found) => this.#findKey(request, found))
  }

  #findKey(request: Request, user: string | undefined): MaybePromise<Admission<Request> | undefined> {
    const { rules, options } = this.#context
    if (rules !== undefined) {
      return after(options.tier?.(request), (tier) => {
        return this.#findCost(request, this.#ruleRequest(request, user, tier))
      })
    }
    const key = this.#keyOf(request, user)
    if (typeof key !== "object") return this.#checkKey(request, key)
    return key instanceof AmbiguousKey
      ? this.#denyAmbiguous(request, key)
      : after(key, (found) => this.#checkKey(request, found))
  }

  #checkKey(request: Request, found: string | undefined): MaybePromise<Admission<Request> | undefined> {
    if (found !== undefined) {
      checkKey(found)
      return this.#findCost(request, found)
    }
    const fallback = this.#fallbackKeyOf(request)
    return fallback === undefined ? undefined : this.#findCost(request, fallback)
  }

  #findCost(request: Request, subject: string | RuleRequest): MaybePromise<Admission<Request> | undefined> {
    const { cost } = this.#context.options
    if (typeof cost !== "function") return this.#findLimit(request, subject, cost)
    return after(cost(request), (units) => this.#findLimit(request, subject, costOf(units)))
  }

  #findLimit(
    request: Request,
    subject: string | RuleRequest,
    cost: number | undefined,
  ): MaybePromise<Admission<Request> | undefined> {
    const { limit } = this.#context.options
    if (typeof limit !== "function") return this.#check(request, { subject, cost })
    return after(limit(request), (found) => {
      return found === Infinity
        ? undefined
        : this.#check(request, { subject, cost, limit: checkLimit(found) })
    })
  }

  #check(request: Request, asked: Asked): MaybePromise<Admission<Request>> {
    let decision: MaybePromise<RequestDecision>
    try {
      decision = this.#decide(asked)
    } catch (error) {
      return this.#admitWithoutStore(request, asked, error)
    }
    if (!isPromise(decision)) return this.#admission(request, decision, asked)
    return decision.then(
      (made) => this.#admission(request, made, asked),
      (error: unknown) => this.#admitWithoutStore(request, asked, error),
    )
  }

  #decide({ subject, cost, limit }: Asked): MaybePromise<RequestDecision> {
    const options = cost === undefined ? undefined : { cost }
    if (typeof subject === "string") {
      const limiter = this.#context.limiter as Limiter
      const ofCall = limit === undefined ? options : { ...options, limit }
      if (this.#mustAcquire) return limiter.acquire(subject, ofCall)
      return limiter.checkEither(subject, ofCall)
    }
    const rules = this.#context.rules as RequestRules
    return rules.checkEither(subject as RuleRequest, options)
  }

  #ruleRequest(request: Request, user: string | undefined, tier: string | undefined): RuleRequest {
    const reader = this.#reader
    return {
      method: reader.method(request),
      host: hostOf(reader, request),
      path: reader.target(request),
      // The application receives the path as sent, and may route `/login/../x` to something under /login.
      dotSegments: "refuse",
      headers: reader.headers(request),
      rawHeaders: reader.rawHeaders(request),
      ip: ipOf(this.#address, request),
      user,
      tier,
      route: reader.route?.(request),
      body: reader.body?.(request),
    }
  }

  #admission(
    request: Request,
    made: RequestDecision,
    { subject, cost = 1 }: Asked,
    error?: unknown,
  ): MaybePromise<Admission<Request>> {
    const key = typeof subject === "string" ? subject : undefined
    const decision = reserveDelay(this.#context, made, key, cost)
    this.#warnings.examine(request, decision, key)
    const limitHeaders = this.#headers(request, decision)
    const headers = this.#customHeaders?.apply(limitHeaders, request, decision) ?? limitHeaders
    const { body, onDecision, logger } = this.#context.options
    if (onDecision !== undefined) {
      const event = error === undefined ? { request, decision, key } : { request, decision, key, error }
      notify(onDecision, event, logger)
    } else if (error !== undefined) this.#warnOnce(error)
    if (decision.allowed) return new Admission(this.#context, request, decision, headers, key, cost)
    return after(typeof body === "function" ? body(request, decision) : body, (own) => {
      return new Admission(this.#context, request, decision, headers, key, cost, own)
    })
  }

  #headers(request: Request, decision: RequestDecision): readonly string[] {
    // An ambiguous key was not checked against any limit.
    if (!decision.allowed && decision.ambiguous !== undefined) return NO_HEADERS
    const { headers, retryAfter } = this.#context.options
    const style = headers ?? ("headers" in decision ? decision.headers : "both")
    const policies = "reason" in decision ? decision.policies : this.#policiesOf(decision)
    if (style === "none" || policies.length === 0) return NO_HEADERS
    const shown = mergeShownLimits(request, { decision, policies })
    return retryAfter === undefined
      ? headerList(style, shown.policies, shown.decision)
      : headerList(style, shown.policies, shown.decision, { retryAfter })
  }

  /** With a `limit` function, the limit of the policy is that of the decision. */
  #policiesOf({ limit }: Decision): readonly HeaderPolicy[] {
    if (typeof this.#context.options.limit !== "function") return this.#policies
    return getOrCache(this.#policiesByLimit, limit, MAX_LIMITS, () =>
      this.#policies.map((policy) => ({ ...policy, quota: limit })),
    )
  }

  #denyAmbiguous(request: Request, { ambiguous }: AmbiguousKey): MaybePromise<Admission<Request>> {
    const decision: Decision = {
      allowed: false,
      limit: 0,
      remaining: 0,
      used: 0,
      windowMs: 0,
      retryAfterMs: Number.POSITIVE_INFINITY,
      resetAfterMs: 0,
      resetAt: (this.#context.options.clock ?? systemClock).now(),
      delayMs: 0,
      deniedBy: "ambiguous-key",
      ambiguous,
    }
    return this.#admission(request, decision, { subject: undefined, cost: 0 })
  }

  /** Allows a request whose store threw an error, or denies it if the options say so. Stores should never throw. */
  #admitWithoutStore(request: Request, asked: Asked, error: unknown): MaybePromise<Admission<Request>> {
    const { options } = this.#context
    const allowed = options.onStoreFailure !== "deny"
    const wait = allowed ? 0 : STORE_FAILURE_RETRY_MS
    const limit = asked.limit ?? this.#policies[0]?.quota ?? Number.POSITIVE_INFINITY
    const now = (options.clock ?? systemClock).now()
    const decision: Decision = {
      allowed,
      limit,
      remaining: allowed ? limit : 0,
      used: 0,
      windowMs: this.#policies[0]?.windowMs ?? 0,
      retryAfterMs: wait,
      resetAfterMs: wait,
      resetAt: now + wait,
      delayMs: 0,
      degraded: allowed ? "allow" : "deny",
    }
    return this.#admission(request, decision, asked, error)
  }

  /** Warns of the first error only: a broken store throws for every request. */
  #warnOnce(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    warn(error, this.#context.options.logger)
  }
}

/** Throws the mistakes, if there are any, and closes the limiter that nobody can use then. */
function throwWith(mistakes: Mistakes, limiter: Limiter | undefined): void {
  try {
    mistakes.throwAll()
  } catch (error) {
    void limiter?.close()
    throw error
  }
}

/** Checks what a `limit` function has returned. */
function checkLimit(found: unknown): number {
  if (Number.isSafeInteger(found) && (found as number) >= 1) return found as number
  throw new SluiceError("LIMIT_INVALID", {
    place: "rateLimit.limit",
    expected: "must return an integer ≥ 1, or Infinity for a request that is not limited",
    found,
  })
}

/** Calls `next` with the value, at once where it is no promise. Promises of other libraries become native ones. */
function after<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}

function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value
}
