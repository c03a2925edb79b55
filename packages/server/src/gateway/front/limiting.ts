// The rules in front of the upstreams: they decide before the gateway forwards a request.

import type { Clock } from "sluice"
import {
  type CanonicalPath,
  canonicalPath,
  clientIp,
  compileTrustProxy,
  type TrustedProxies,
} from "sluice/http"
import {
  type AdmissionContext,
  DelayQueue,
  noProxies,
  Admission as RequestAdmission,
  reserveDelay,
} from "sluice/internal"
import type { HeaderSource, RuleDecision, RuleRequest, RuleSetDocument } from "sluice/rules"
import { ask, type Core } from "../../core.js"
import { decisionHeaders } from "../../http/answer.js"

const DEFAULT_MAX_HELD = 1_000

/** Decides about requests before the gateway forwards them. */
export interface Limiting {
  /** The canonical form of a request target, which rules match and upstreams receive. */
  target(url: string): CanonicalPath
  /** The proxies whose forwarded headers are trusted, by the rules in force. */
  readonly trusted: TrustedProxies
  /** Decides about a request and charges it. Returns a promise only if the store needs one. Never throws nor rejects. */
  decide(request: RuleRequest): Admission | Promise<Admission>
  /** Whether the decision about a request depends on its body. */
  readsBody(request: RuleRequest): boolean
  /** How many requests the delay queue holds now. */
  readonly held: number
}

/** The decision about one request, and what follows from it: the admission of every middleware, decided by rules. */
export type Admission = Pick<
  RequestAdmission<RuleRequest, RuleDecision>,
  | "decision"
  | "allowed"
  | "denied"
  | "delayMs"
  | "delay"
  | "mustSettle"
  | "responseReader"
  | "settle"
  | "upgraded"
  | "headers"
>

export interface LimitingOptions {
  /** How many requests queueing leaky buckets may hold at once; more are denied. Default: 1,000. */
  readonly maxHeld?: number | undefined
  /** Trusted when the rule set names no proxies. Default: none. */
  readonly trustedProxies?: readonly string[] | undefined
  /** The clock of the delay queue, and of the extensions of holds. Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** Called with failures that do not fail a request, such as a refund that the store did not make. */
  readonly onError?: ((error: unknown) => void) | undefined
}

export function createLimiting(core: Core, options: LimitingOptions = {}): Limiting {
  return new RuleLimiting(core, options)
}

class RuleLimiting implements Limiting {
  readonly #core: Core
  readonly #context: AdmissionContext<RuleRequest>
  readonly #ownProxies: TrustedProxies
  #ruleProxies = noProxies
  #encodedSlashes: "refuse" | "keep" | undefined
  #document: RuleSetDocument | undefined

  constructor(core: Core, options: LimitingOptions) {
    this.#core = core
    this.#context = {
      options: options.clock === undefined ? {} : { clock: options.clock },
      rules: core.engine,
      delayQueue: new DelayQueue(options.maxHeld ?? DEFAULT_MAX_HELD, options.clock),
      onError: options.onError ?? (() => {}),
    }
    const { trustedProxies = [] } = options
    this.#ownProxies =
      trustedProxies.length === 0
        ? noProxies
        : compileTrustProxy(trustedProxies, { place: "trustedProxies", header: undefined })
  }

  get held(): number {
    return this.#context.delayQueue.size
  }

  get trusted(): TrustedProxies {
    this.#follow()
    return this.#ruleProxies.any ? this.#ruleProxies : this.#ownProxies
  }

  target(url: string): CanonicalPath {
    this.#follow()
    return canonicalPath(url, { encodedSlashes: this.#encodedSlashes })
  }

  readsBody(request: RuleRequest): boolean {
    return this.#core.engine.readsBody(request)
  }

  decide(request: RuleRequest): Admission | Promise<Admission> {
    try {
      const decision = ask(this.#core, "gateway", this.#identified(request), undefined, this.#reserveDelay)
      if (!(decision instanceof Promise)) return this.#admission(request, decision)
      return decision.then(
        (made) => this.#admission(request, made),
        (error: unknown) => this.#admitUndecided(request, error),
      )
    } catch (error) {
      return this.#admitUndecided(request, error)
    }
  }

  /** Runs before the decision is reported: a request that finds the delay queue full counts as denied. */
  readonly #reserveDelay = (decision: RuleDecision): RuleDecision =>
    reserveDelay(this.#context, decision, undefined, 1)

  #admission(request: RuleRequest, decision: RuleDecision): Admission {
    return new RequestAdmission(this.#context, request, decision, decisionHeaders(decision), undefined, 1)
  }

  /** Compiles what the rule set says of identities when the rule set changes. */
  #follow(): void {
    const { rules } = this.#core.engine
    if (rules === this.#document) return
    const { trustedProxies = [], forwardedBy, encodedSlashes } = rules.identity ?? {}
    this.#ruleProxies =
      trustedProxies.length === 0
        ? noProxies
        : compileTrustProxy(trustedProxies, { place: "identity.trustedProxies", header: forwardedBy })
    this.#encodedSlashes = encodedSlashes
    this.#document = rules
  }

  /** The engine trusts the proxies of the rule set. When the gateway's own proxies apply, the gateway resolves the address. */
  #identified(request: RuleRequest): RuleRequest {
    const { trusted } = this
    if (trusted !== this.#ownProxies || !trusted.any) return request
    const forwarded = headerText(request.headers, "forwarded")
    const xForwardedFor = headerText(request.headers, "x-forwarded-for")
    return { ...request, ip: clientIp({ peer: request.ip, forwarded, xForwardedFor }, trusted) }
  }

  /** A store that fails leads to a degraded decision. An error here is a bug in the gateway, and the request is allowed. */
  #admitUndecided(request: RuleRequest, error: unknown): Admission {
    this.#context.onError(error)
    return this.#admission(request, { ...UNDECIDED, revision: this.#core.engine.revision })
  }
}

const UNDECIDED: Omit<RuleDecision, "revision"> = {
  allowed: true,
  limit: Number.POSITIVE_INFINITY,
  remaining: Number.POSITIVE_INFINITY,
  used: 0,
  windowMs: 0,
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

function headerText(headers: HeaderSource | undefined, name: string): string | undefined {
  if (headers === undefined) return undefined
  const value = typeof headers.get === "function" ? headers.get(name) : (headers as Texts)[name]
  return Array.isArray(value) ? value.join(", ") : ((value as string | null | undefined) ?? undefined)
}

type Texts = Readonly<Record<string, string | readonly string[] | undefined>>
