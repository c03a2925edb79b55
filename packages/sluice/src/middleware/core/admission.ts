// The part that all middlewares share: from a framework's request to a decision, its headers and its answer.

import { checkKey, costOf } from "../../call-options.js"
import { systemClock } from "../../clock.js"
import type { Decision } from "../../decision.js"
import type { Limiter } from "../../limiter.js"
import { keepTicksQuick } from "../../quick-ticks.js"
import { compileTrustProxy } from "../../request/address/trust-proxy.js"
import type { HeaderSource } from "../../request/header-source.js"
import type { RuleRequest } from "../../rules/engine/identity.js"
import type { RuleDecision } from "../../rules/engine/rule-decision.js"
import { tell } from "../../stores/fallback/notify.js"
import { messageOf } from "../../stores/fallback/thrown.js"
import type { HeaderPolicy } from "../headers/headers.js"
import { headerList, noteShown, type Shown, shownOn, showTogether } from "../headers/merged-headers.js"
import { HoldingRoom } from "./delay-queue.js"
import { deniedAnswer } from "./denied-answer.js"
import type { DeniedAnswer, Ending, Gatekeeper, RequestDecision } from "./passage.js"
import { Passage } from "./passage.js"
import type { AnyRateLimitOptions, RateLimitOptions, RequestRules } from "./rate-limit-options.js"
import { checkRateLimitOptions, limiterOf } from "./rate-limit-options.js"
import { AmbiguousKey, compileKeyBy, IpKeys, type IpReading, ipOf } from "./request-key.js"
import { hostOf, type RequestReader } from "./request-reader.js"

type MaybePromise<T> = T | Promise<T>

const MOST_HELD = 1_000
/** When to come back to a store that throws: nobody can know. */
const RETRY_AFTER_MS = 1_000

/** One per middleware. Answers without a promise when nothing has to be waited for. */
export class Gate<Request extends object> implements Gatekeeper<Request> {
  readonly mayForgive: boolean
  readonly #options: AnyRateLimitOptions<Request>
  readonly #reader: RequestReader<Request>
  readonly #reading: IpReading<Request>
  readonly #engine: RequestRules | undefined
  readonly #limiter: Limiter | undefined
  readonly #policies: readonly HeaderPolicy[]
  readonly #keyOf: (request: Request) => MaybePromise<string | undefined> | AmbiguousKey
  /** The key that stands in for one that is missing. */
  readonly #spareKeyOf: (request: Request) => string | undefined
  readonly #room: HoldingRoom
  readonly #writeHeaders: (decision: Decision) => string[]
  #hasWarned = false

  /** `adapterFields`: options that the adapter takes besides, and has checked itself. */
  constructor(
    options: RateLimitOptions<Request>,
    reader: RequestReader<Request>,
    adapterFields: readonly string[] = [],
  ) {
    const checked = checkRateLimitOptions(options, adapterFields)
    const { trustProxy, proxyHeader } = checked
    this.#options = checked
    this.#reader = reader
    this.#reading = {
      reader,
      trusted:
        trustProxy === undefined
          ? undefined
          : compileTrustProxy(trustProxy, { header: proxyHeader, place: "rateLimit.trustProxy" }),
    }
    this.#engine = checked.engine
    this.#limiter = checked.engine === undefined ? limiterOf(checked) : undefined
    this.#policies = this.#limiter?.policies ?? []
    const ips = new IpKeys(this.#reading, checked.ipv6Subnet)
    this.#keyOf = checked.key ?? compileKeyBy(checked.keyBy ?? "ip", reader, ips, checked.user)
    this.#spareKeyOf = checked.onMissingKey === "skip" ? () => undefined : (request) => ips.keyOf(request)
    this.#room = new HoldingRoom(checked.maxHeld ?? MOST_HELD, checked.clock)
    this.#writeHeaders = headerList(checked.headers ?? "both", this.#policies)
    this.mayForgive = checked.skipFailedRequests === true || checked.skipSuccessfulRequests === true
    keepTicksQuick()
  }

  /**
   * Decides about a request and charges it. Undefined for one that is let through unseen. Throws, or rejects, only what
   * the application's own functions throw, or when they return what is no key or no cost.
   */
  pass(request: Request): MaybePromise<Passage<Request> | undefined> {
    const { skip } = this.#options
    if (skip === undefined) return this.#identify(request)
    return after(skip(request), (isSkipped) => (isSkipped ? undefined : this.#identify(request)))
  }

  /** How many requests are held now. */
  get held(): number {
    return this.#room.taken
  }

  /** Lets go of a limiter of its own. One that was given is yours to close. */
  async close(): Promise<void> {
    if (this.#options.limiter === undefined) await this.#limiter?.close()
  }

  #identify(request: Request): MaybePromise<Passage<Request> | undefined> {
    if (this.#engine !== undefined) return this.#price(request, undefined)
    const key = this.#keyOf(request)
    if (typeof key !== "object") return this.#price(request, key)
    return key instanceof AmbiguousKey
      ? this.#refuse(request, key)
      : after(key, (value) => this.#price(request, value))
  }

  /** Nobody knows whom the request counts for, and the application may take it for yet another. */
  #refuse(request: Request, { ambiguous }: AmbiguousKey): Passage<Request> {
    const decision: Decision = {
      allowed: false,
      limit: 0,
      remaining: 0,
      retryAfterMs: Number.POSITIVE_INFINITY,
      resetAfterMs: 0,
      resetAt: (this.#options.clock ?? systemClock).now(),
      delayMs: 0,
      deniedBy: "ambiguous-key",
      ambiguous,
    }
    return this.#passage(request, decision, undefined, 0)
  }

  #price(request: Request, given: string | undefined): MaybePromise<Passage<Request> | undefined> {
    let key = given
    if (this.#engine === undefined) {
      if (key === undefined) {
        key = this.#spareKeyOf(request)
        if (key === undefined) return undefined
      } else checkKey(key)
    }
    const { cost } = this.#options
    if (typeof cost !== "function") return this.#check(request, key, cost)
    return after(cost(request), (units) => this.#check(request, key, costOf(units)))
  }

  #check(
    request: Request,
    key: string | undefined,
    cost: number | undefined,
  ): MaybePromise<Passage<Request> | undefined> {
    // Read outside the try: what the application's functions throw is not the store's.
    const asked = this.#engine === undefined ? undefined : this.#ruleRequest(request)
    let decision: MaybePromise<RequestDecision>
    try {
      decision = this.#decide(key, asked, cost)
    } catch (error) {
      return this.#passWithout(request, key, cost, error)
    }
    if (!isPromise(decision)) return this.#passage(request, decision, key, cost)
    return decision.then(
      (made) => this.#passage(request, made, key, cost),
      (error: unknown) => this.#passWithout(request, key, cost, error),
    )
  }

  #decide(
    key: string | undefined,
    asked: RuleRequest | undefined,
    cost: number | undefined,
  ): MaybePromise<RequestDecision> {
    const options = cost === undefined ? undefined : { cost }
    if (asked === undefined) {
      const limiter = this.#limiter as Limiter
      return limiter.isSync
        ? limiter.checkSync(key as string, options)
        : limiter.check(key as string, options)
    }
    const engine = this.#engine as RequestRules
    return engine.isSync ? engine.checkSync(asked, options) : engine.check(asked, options)
  }

  #ruleRequest(request: Request): RuleRequest {
    const reader = this.#reader
    const { tier, user } = this.#options
    return {
      method: reader.method(request),
      host: hostOf(reader, request),
      path: reader.target(request),
      // The application sees the path as it came, and may take `/login/../x` for something under /login.
      dotSegments: "refuse",
      headers: reader.headers(request),
      rawHeaders: reader.rawHeaders(request),
      ip: ipOf(this.#reading, request),
      user: user?.(request),
      tier: tier?.(request),
      route: reader.route?.(request),
    }
  }

  #passage(
    request: Request,
    made: RequestDecision,
    key: string | undefined,
    cost: number | undefined,
    error?: unknown,
  ): Passage<Request> {
    const units = cost ?? 1
    let decision = made
    if (decision.delayMs > 0 && !this.#room.enter()) {
      this.#refund(decision, key, units)
      decision = this.#tooManyHeld(decision)
    }
    const headers = this.#headers(request, decision)
    const passage = new Passage<Request>(this, request, decision, headers, key, units)
    const { onDecision } = this.#options
    if (onDecision !== undefined) {
      tell(onDecision, error === undefined ? { request, decision, key } : { request, decision, key, error })
    } else if (error !== undefined) this.#warnOnce(error)
    return passage
  }

  #headers(request: Request, decision: RequestDecision): readonly string[] {
    // No limit was asked.
    if (!decision.allowed && decision.ambiguous !== undefined) return NO_HEADERS
    const notes = this.#reader.notes === undefined ? request : this.#reader.notes(request)
    const earlier = shownOn(notes)
    if (earlier === undefined && this.#engine === undefined) {
      // The way of nearly every request.
      const headers = this.#writeHeaders(decision)
      if (headers.length > 0) noteShown(notes, { decision, policies: this.#policies })
      return headers
    }
    const style = this.#options.headers ?? ("headers" in decision ? decision.headers : "both")
    const own = style === "none" ? undefined : this.#shown(decision)
    if (own === undefined) return NO_HEADERS
    const shown = earlier === undefined ? own : showTogether(earlier, own)
    noteShown(notes, shown)
    return headerList(style, shown.policies)(shown.decision)
  }

  /** Undefined where no limit applies: there is nothing to show. */
  #shown(decision: RequestDecision): Shown | undefined {
    // Rules that could not be asked have no limits to show either.
    const policies = "reason" in decision ? decision.policies : this.#policies
    return policies.length === 0 ? undefined : { decision, policies }
  }

  /** A store should answer whatever happens. If one throws all the same, the request does not pay for it. */
  #passWithout(
    request: Request,
    key: string | undefined,
    cost: number | undefined,
    error: unknown,
  ): Passage<Request> {
    const allowed = this.#options.onStoreFailure !== "deny"
    const wait = allowed ? 0 : RETRY_AFTER_MS
    const limit = this.#policies[0]?.quota ?? Number.POSITIVE_INFINITY
    const now = (this.#options.clock ?? systemClock).now()
    const decision: Decision = {
      allowed,
      limit,
      remaining: allowed ? limit : 0,
      retryAfterMs: wait,
      resetAfterMs: wait,
      resetAt: now + wait,
      delayMs: 0,
      degraded: allowed ? "allow" : "deny",
    }
    return this.#passage(request, decision, key, cost, error)
  }

  /** Of the first only: a store that throws does so for every request. */
  #warnOnce(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    globalThis.process?.emitWarning?.(error instanceof Error ? error : new Error(messageOf(error)))
  }

  #tooManyHeld(decision: RequestDecision): RequestDecision {
    const only = this.#policies.length === 1 ? this.#policies[0]?.name : undefined
    const denied = {
      allowed: false,
      retryAfterMs: decision.delayMs,
      delayMs: 0,
      deniedBy: only ?? "queue",
    }
    return "reason" in decision ? { ...decision, ...denied, reason: "limit" } : { ...decision, ...denied }
  }

  answerOf(passage: Passage<Request>): DeniedAnswer {
    return deniedAnswer(this.#options, passage.request, passage.decision)
  }

  forgives(request: Request, ending: Ending): boolean {
    const { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful } = this.#options
    let isSuccess = typeof ending === "number" && ending < 400
    if (typeof ending === "number" && requestWasSuccessful !== undefined) {
      // Called when the response closes: what it throws there would end the process.
      tell((status: number) => {
        const answer = requestWasSuccessful(request, status)
        isSuccess = answer
        return answer
      }, ending)
    }
    return (isSuccess ? skipSuccessfulRequests : skipFailedRequests) === true
  }

  awaitsAnswer(decision: RequestDecision): boolean {
    return this.#engine !== undefined && "reason" in decision && this.#engine.mustSettle?.(decision) === true
  }

  settle({ decision }: Passage<Request>, status: number, headers: HeaderSource | undefined): void {
    // In the background, as a refund is.
    if ("reason" in decision) this.#engine?.settle?.(decision, { status, headers }).catch(() => {})
  }

  refund({ decision, key, cost }: Passage<Request>): void {
    this.#refund(decision, key, cost)
  }

  /** In the background: whoever asked has been answered. */
  #refund(decision: RequestDecision, key: string | undefined, cost: number): void {
    const refund =
      "reason" in decision
        ? this.#engine?.refund(decision as RuleDecision)
        : this.#limiter?.refund(key as string, cost, decision)
    // A charge that cannot be given back expires by itself.
    refund?.catch(() => {})
  }

  wait({ decision, key }: Passage<Request>, signal: AbortSignal | undefined): Promise<boolean> {
    return this.#room.wait(decision, key, signal)
  }
}

const NO_HEADERS: readonly string[] = []

/** Always a promise of the language's own, whichever library the application's comes from. */
function after<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}

function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value
}
