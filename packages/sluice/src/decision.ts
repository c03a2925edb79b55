import type { Policy, Verdict } from "./algorithms/algorithm.js"
import type { Degraded, Outcome } from "./stores/store.js"

/** What one of several limits says. Durations are milliseconds, exact to a microsecond. */
export interface LimitDecision {
  name: string
  allowed: boolean
  /** The limit, or the burst where there is one. */
  limit: number
  /** The largest cost this limit would allow right now, after this decision. */
  remaining: number
  retryAfterMs: number
  resetAfterMs: number
  resetAt: number
}

/** What was decided about one request. A denial is a value like any other. */
export interface Decision {
  allowed: boolean
  /** The limit, or the burst where there is one. With several limits: of the one with the least remaining. */
  limit: number
  /** The largest cost that would be allowed right now, after this decision. */
  remaining: number
  /** 0 when allowed; else the shortest wait after which the same cost is allowed. Infinity when it can never fit. */
  retryAfterMs: number
  /** How long until the key is as if it had never been used. */
  resetAfterMs: number
  /** The same as a time in milliseconds since 1970. */
  resetAt: number
  /** How long to hold the admitted request (queueing leaky bucket), else 0. */
  delayMs: number
  /** The name of the limit that denied, the one with the longest wait; `"block"` for a blocked key. */
  deniedBy?: string | undefined
  /** Set when the store could not decide properly, and says what was done instead. */
  degraded?: Degraded | undefined
  /** One entry per limit, when there are several. */
  limits?: readonly LimitDecision[] | undefined
  /**
   * Set when nobody was asked, because the request does not say clearly whom it counts for. It says what must change: `header
   * x-api-key must be given once`.
   */
  ambiguous?: string | undefined
}

/** A limit with its name, as decisions show it. */
export interface NamedPolicy {
  readonly name: string
  readonly policy: Policy
}

/** When and how a verdict came about. */
type Asked = Pick<Outcome, "now" | "degraded">

/** The decision of a limiter with a single limit. Fields that say nothing (`deniedBy`, `degraded`) are left out. */
export function decisionOfOne(name: string, policy: Policy, verdict: Verdict, outcome: Asked): Decision {
  const decision: Decision = {
    allowed: verdict.allowed,
    limit: policy.capacity,
    remaining: verdict.remaining,
    retryAfterMs: verdict.retryAfter / 1000,
    resetAfterMs: verdict.resetAfter / 1000,
    resetAt: (outcome.now + verdict.resetAfter) / 1000,
    delayMs: verdict.delay / 1000,
  }
  if (!verdict.allowed) decision.deniedBy = name
  if (outcome.degraded !== undefined) decision.degraded = outcome.degraded
  return decision
}

/** `blocked` is the verdict on the block of the key, if one was asked for. */
export function decisionOfMany(
  limits: readonly NamedPolicy[],
  verdicts: readonly Verdict[],
  outcome: Outcome,
  blocked: Verdict | undefined,
): Decision {
  const { allowed, degraded, now } = outcome
  const entries = limits.map((limit, i) =>
    limitDecision(limit.name, limit.policy.capacity, verdicts[i] as Verdict, now),
  )
  const isBlocked = blocked !== undefined && !blocked.allowed
  const waits = isBlocked ? [...entries, limitDecision("block", 0, blocked, now)] : entries
  const tightest = entries.reduce((a, b) => (b.remaining < a.remaining ? b : a))
  const slowest = waits.reduce((a, b) => (b.retryAfterMs > a.retryAfterMs ? b : a))
  const last = waits.reduce((a, b) => (b.resetAfterMs > a.resetAfterMs ? b : a))
  return {
    allowed,
    limit: tightest.limit,
    remaining: isBlocked ? 0 : tightest.remaining,
    retryAfterMs: slowest.retryAfterMs,
    resetAfterMs: last.resetAfterMs,
    resetAt: last.resetAt,
    delayMs: allowed ? Math.max(...verdicts.map((verdict) => verdict.delay)) / 1000 : 0,
    deniedBy: allowed ? undefined : slowest.name,
    degraded,
    limits: limits.length > 1 ? entries : undefined,
  }
}

function limitDecision(name: string, limit: number, verdict: Verdict, now: number): LimitDecision {
  return {
    name,
    allowed: verdict.allowed,
    limit,
    remaining: verdict.remaining,
    retryAfterMs: verdict.retryAfter / 1000,
    resetAfterMs: verdict.resetAfter / 1000,
    resetAt: (now + verdict.resetAfter) / 1000,
  }
}
