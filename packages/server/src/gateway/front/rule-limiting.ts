// The rules in front of the upstreams: they decide before a request is forwarded, hold the one whose turn has not come,
// and settle what it was charged once its answer is there.

import type { Clock } from "sluice"
import {
  type CanonicalPath,
  canonicalPath,
  clientIp,
  compileTrustProxy,
  type DeniedAnswer,
  type TrustedProxies,
} from "sluice/http"
import { DelayQueue, deniedAnswer, noProxies } from "sluice/internal"
import type { HeaderSource, RuleDecision, RuleRequest, RuleSetDocument } from "sluice/rules"
import { ask, type Core } from "../../core.js"
import { decisionHeaders, type HeaderList } from "../../http/answer.js"
import type { Admission, Limiting, SettledAnswer } from "./limiting.js"

export interface LimitingOptions {
  /** Requests that queueing leaky buckets hold at once; more are denied. Default: 1,000. */
  readonly maxHeld?: number | undefined
  /** Believed where the rule set names no proxies. Default: nobody. */
  readonly trustedProxies?: readonly string[] | undefined
  /** What holds requests. Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** Told of failures that are nobody's request's fault. */
  readonly onError?: ((error: unknown) => void) | undefined
}

export function createLimiting(core: Core, options: LimitingOptions = {}): Limiting {
  return new RuleLimiting(core, options)
}

class RuleLimiting implements Limiting {
  readonly core: Core
  readonly delayQueue: DelayQueue
  readonly onError: (error: unknown) => void
  readonly #ours: TrustedProxies
  #theirs = noProxies
  #encodedSlashes: "refuse" | "keep" | undefined
  #document: RuleSetDocument | undefined

  constructor(core: Core, options: LimitingOptions) {
    this.core = core
    this.delayQueue = new DelayQueue(options.maxHeld ?? 1_000, options.clock)
    this.onError = options.onError ?? (() => {})
    const { trustedProxies = [] } = options
    this.#ours =
      trustedProxies.length === 0
        ? noProxies
        : compileTrustProxy(trustedProxies, { place: "trustedProxies", header: undefined })
  }

  get held(): number {
    return this.delayQueue.size
  }

  get trusted(): TrustedProxies {
    this.#follow()
    return this.#theirs.any ? this.#theirs : this.#ours
  }

  target(url: string): CanonicalPath {
    this.#follow()
    return canonicalPath(url, { encodedSlashes: this.#encodedSlashes })
  }

  decide(request: RuleRequest): Admission | Promise<Admission> {
    try {
      const decision = ask(this.core, "gateway", this.#identified(request), undefined, this.#admit)
      if (!(decision instanceof Promise)) return new RuleAdmission(this, decision)
      return decision.then(
        (made) => new RuleAdmission(this, made),
        (error: unknown) => this.#undecided(error),
      )
    } catch (error) {
      return this.#undecided(error)
    }
  }

  /** Who has to wait needs a place to do so. Before anybody is told: what finds none was denied. */
  readonly #admit = (decision: RuleDecision): RuleDecision => {
    if (decision.delayMs === 0 || this.delayQueue.reserve()) return decision
    this.refund(decision)
    return tooManyHeld(decision)
  }

  refund(decision: RuleDecision): void {
    // In the background: whoever asked has been answered, or has gone.
    this.core.engine.refund(decision).catch(this.onError)
  }

  /** What the rule set says of identities, compiled when it changes. */
  #follow(): void {
    const { rules } = this.core.engine
    if (rules === this.#document) return
    const { trustedProxies = [], forwardedBy, encodedSlashes } = rules.identity ?? {}
    this.#theirs =
      trustedProxies.length === 0
        ? noProxies
        : compileTrustProxy(trustedProxies, { place: "identity.trustedProxies", header: forwardedBy })
    this.#encodedSlashes = encodedSlashes
    this.#document = rules
  }

  /** The engine believes the proxies of the rule set. Where those are ours, it is told who the client is. */
  #identified(request: RuleRequest): RuleRequest {
    const { trusted } = this
    if (trusted !== this.#ours || !trusted.any) return request
    const forwarded = headerText(request.headers, "forwarded")
    const xForwardedFor = headerText(request.headers, "x-forwarded-for")
    return { ...request, ip: clientIp({ peer: request.ip, forwarded, xForwardedFor }, trusted) }
  }

  /** A store that fails is a degraded decision; what throws is a mistake of ours, and no request pays for it. */
  #undecided(error: unknown): Admission {
    this.onError(error)
    return new RuleAdmission(this, { ...UNDECIDED, revision: this.core.engine.revision })
  }
}

const UNDECIDED: Omit<RuleDecision, "revision"> = {
  allowed: true,
  limit: Number.POSITIVE_INFINITY,
  remaining: Number.POSITIVE_INFINITY,
  retryAfterMs: 0,
  resetAfterMs: 0,
  resetAt: 0,
  delayMs: 0,
  degraded: "allow",
  reason: "no-rule",
  mode: "enforce",
  rules: [],
  shadowDenied: [],
  headers: "none",
  policies: [],
}

class RuleAdmission implements Admission {
  readonly decision: RuleDecision
  readonly #limiting: RuleLimiting

  constructor(limiting: RuleLimiting, decision: RuleDecision) {
    this.#limiting = limiting
    this.decision = decision
  }

  get allowed(): boolean {
    return this.decision.allowed
  }

  get delayMs(): number {
    return this.decision.delayMs
  }

  get denied(): DeniedAnswer | undefined {
    return this.decision.allowed ? undefined : deniedAnswer({}, undefined, this.decision)
  }

  get mustSettle(): boolean {
    return this.decision.allowed && this.#limiting.core.engine.mustSettle(this.decision)
  }

  headers(): HeaderList {
    return decisionHeaders(this.decision)
  }

  headerLines(): string {
    const list = this.headers()
    let lines = ""
    for (let i = 0; i < list.length; i += 2) lines += `${list[i]}: ${list[i + 1]}\r\n`
    return lines
  }

  get headerNames(): readonly string[] {
    return this.headers().filter((_, i) => i % 2 === 0)
  }

  async hold(signal: AbortSignal): Promise<boolean> {
    const isDue = await this.#limiting.delayQueue.wait(this.decision, undefined, signal)
    if (!isDue) this.#limiting.refund(this.decision)
    return isDue
  }

  settle({ status, headers, trailers }: SettledAnswer): void {
    if (!this.mustSettle) return
    const { core, onError } = this.#limiting
    // In the background: whoever asked has been answered.
    core.engine.settle(this.decision, { status, headers, trailers }).catch(onError)
  }
}

/** The bucket would take it, and there is no place to hold it. */
function tooManyHeld(decision: RuleDecision): RuleDecision {
  const deniedBy = decision.policies.length === 1 ? decision.policies[0]?.name : "queue"
  return {
    ...decision,
    allowed: false,
    retryAfterMs: decision.delayMs,
    delayMs: 0,
    deniedBy,
    reason: "limit",
  }
}

function headerText(headers: HeaderSource | undefined, name: string): string | undefined {
  if (headers === undefined) return undefined
  const value = typeof headers.get === "function" ? headers.get(name) : (headers as Texts)[name]
  return Array.isArray(value) ? value.join(", ") : ((value as string | null | undefined) ?? undefined)
}

type Texts = Readonly<Record<string, string | readonly string[] | undefined>>
