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
  deniedBy: string | undefined
  /** Set when the store could not decide properly, and says what was done instead. */
  degraded: Degraded | undefined
  /** One entry per limit, when there are several. */
  limits: readonly LimitDecision[] | undefined
}

/** A limit with its name, as decisions show it. */
export interface NamedPolicy {
  readonly name: string
  readonly policy: Policy
}

/** The decision of a limiter with a single limit. */
export function decisionOfOne(limit: NamedPolicy, outcome: Outcome): Decision {
  const verdict = outcome.verdicts[0] as Verdict
  return {
    allowed: verdict.allowed,
    limit: limit.policy.capacity,
    remaining: verdict.remaining,
    retryAfterMs: verdict.retryAfter / 1000,
    resetAfterMs: verdict.resetAfter / 1000,
    resetAt: (outcome.now + verdict.resetAfter) / 1000,
    delayMs: verdict.delay / 1000,
    deniedBy: verdict.allowed ? undefined : limit.name,
    degraded: outcome.degraded,
    limits: undefined,
  }
}

/** `blocked` is the verdict on the block of the key, if one was asked for. */
export function decisionOfMany(
  limits: readonly NamedPolicy[],
  verdicts: readonly Verdict[],
  outcome: Outcome,
  blocked: Verdict | undefined,
): Decision {
  const { now } = outcome
  let tightest = 0
  let slowest = -1
  let reset = 0
  let delay = 0
  const entries = limits.map((limit, i) => {
    const verdict = verdicts[i] as Verdict
    if (verdict.remaining < (verdicts[tightest] as Verdict).remaining) tightest = i
    if (!verdict.allowed && (slowest < 0 || verdict.retryAfter > (verdicts[slowest] as Verdict).retryAfter))
      slowest = i
    reset = Math.max(reset, verdict.resetAfter)
    delay = Math.max(delay, verdict.delay)
    return limitDecision(limit, verdict, now)
  })
  let retry = slowest < 0 ? 0 : (verdicts[slowest] as Verdict).retryAfter
  let deniedBy = limits[slowest]?.name
  const isBlocked = blocked !== undefined && !blocked.allowed
  if (isBlocked) {
    reset = Math.max(reset, blocked.resetAfter)
    if (blocked.retryAfter > retry) {
      retry = blocked.retryAfter
      deniedBy = "block"
    }
  }
  return {
    allowed: outcome.allowed,
    limit: (limits[tightest] as NamedPolicy).policy.capacity,
    remaining: isBlocked ? 0 : (verdicts[tightest] as Verdict).remaining,
    retryAfterMs: retry / 1000,
    resetAfterMs: reset / 1000,
    resetAt: (now + reset) / 1000,
    delayMs: outcome.allowed ? delay / 1000 : 0,
    deniedBy,
    degraded: outcome.degraded,
    limits: limits.length > 1 ? entries : undefined,
  }
}

function limitDecision(limit: NamedPolicy, verdict: Verdict, now: number): LimitDecision {
  return {
    name: limit.name,
    allowed: verdict.allowed,
    limit: limit.policy.capacity,
    remaining: verdict.remaining,
    retryAfterMs: verdict.retryAfter / 1000,
    resetAfterMs: verdict.resetAfter / 1000,
    resetAt: (now + verdict.resetAfter) / 1000,
  }
}
