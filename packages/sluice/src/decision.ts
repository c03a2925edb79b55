import type { Policy, Verdict } from "./algorithms/algorithm.js"
import { type BlockStart, blockPolicy } from "./algorithms/block.js"

/** How a decision was made when the store could not make it: everything allowed, everything denied, or counted locally. */
export type Degraded = "allow" | "deny" | "local"

/**
 * Who made a decision on a limit with leases: the store, this instance from units that it holds (`lease`) or from a denial of
 * the store that still holds, or this instance because the store failed (`local`).
 */
export type DecisionSource = "store" | "lease" | "local"

/** What one of several limits decided. Durations are in milliseconds, exact to a microsecond. */
export interface LimitDecision {
  name: string
  allowed: boolean
  /** The limit, or the burst where there is one. */
  limit: number
  /** The largest cost that this limit would allow now, after this decision. */
  remaining: number
  /** Units that count now, after this decision. See `Decision.used`. */
  used: number
  /** The window. */
  windowMs: number
  /** How long until this limit allows the same cost; see `Decision.retryAfterMs`. */
  retryAfterMs: number
  resetAfterMs: number
  resetAt: number
}

/** A block that a request began: a limit with a penalty has denied its key too often. */
export interface BegunBlock {
  /** The name of the limit. */
  limit: string
  /** How many denials began the block. */
  denials: number
  /** How many blocks of the key were before this one and count, so that this one may be longer. */
  earlier: number
  blockedForMs: number
  /** In milliseconds since 1970. */
  blockedUntil: number
}

/** The decision about one request. A denial is a value, not an error. */
export interface Decision {
  allowed: boolean
  /** The limit, or the burst where there is one. With several limits, that of the limit with the least remaining. */
  limit: number
  /** The largest cost that would be allowed now, after this decision. */
  remaining: number
  /**
   * Units that count now, after this decision, under the limit that `limit` and `remaining` are of. Fixed window and sliding
   * window log: units charged within the window. Sliding window counter: its estimate of them. Buckets: what has not drained
   * yet, rounded up. Without leases it is `limit - remaining`, or more than `limit` if units were charged without a decision or
   * the limit was lowered. A degraded decision shows what this instance counted.
   */
  used: number
  /** The window of that limit. 0 if no limit applies. */
  windowMs: number
  /**
   * 0 if allowed; else the shortest wait after which the same cost is allowed. Infinity if the cost can never fit. A peek, which
   * costs 0, asks about one unit: 0 if one would be allowed now, else the shortest wait until it is.
   */
  retryAfterMs: number
  /** How long until the key is in the state of a key that was never used. */
  resetAfterMs: number
  /** The same as `resetAfterMs`, as a time in milliseconds since 1970. */
  resetAt: number
  /** How long to hold the allowed request (leaky bucket with `overflow: "queue"`); else 0. */
  delayMs: number
  /** `"block"` if the key is blocked; else the name of the limit that denied: of several, the one with the longest wait. */
  deniedBy?: string | undefined
  /** The blocks that this request began. Each block is in one decision only. */
  begunBlocks?: readonly BegunBlock[] | undefined
  /** Set if the store could not decide: how the decision was made instead. */
  degraded?: Degraded | undefined
  /** With leases: who made the decision. */
  source?: DecisionSource | undefined
  /** One entry per limit, if there are several. */
  limits?: readonly LimitDecision[] | undefined
  /**
   * Set if the request was denied unasked, because it does not say clearly which client it counts for. The text says what the
   * client must change: `header x-api-key must be given once`.
   */
  ambiguous?: string | undefined
}

/** A policy with the name that decisions show. */
export interface NamedPolicy {
  readonly name: string
  readonly policy: Policy
}

/** When a verdict was made, in microseconds, and whether the store made it. */
interface VerdictSource {
  readonly now: number
  readonly degraded: Degraded | undefined
  readonly source?: DecisionSource | undefined
}

/** The decision of a limiter with a single limit. Fields that say nothing (`deniedBy`, `degraded`) are left out. */
export function decisionOfOne(
  name: string,
  policy: Policy,
  verdict: Verdict,
  source: VerdictSource,
): Decision {
  const decision: Decision = {
    allowed: verdict.allowed,
    limit: policy.promisedCapacity,
    remaining: verdict.remaining,
    used: verdict.used,
    windowMs: policy.windowMs,
    retryAfterMs: verdict.retryAfter / 1000,
    resetAfterMs: verdict.resetAfter / 1000,
    resetAt: (source.now + verdict.resetAfter) / 1000,
    delayMs: verdict.delay / 1000,
  }
  if (!verdict.allowed) decision.deniedBy = name
  if (source.degraded !== undefined) decision.degraded = source.degraded
  if (source.source !== undefined) decision.source = source.source
  return decision
}

/** The decision of several limits together. After the verdicts on the limits come those on blocks of the key, if there are any. */
export function decisionOfMany(
  limits: readonly NamedPolicy[],
  verdicts: readonly Verdict[],
  source: VerdictSource & {
    readonly allowed: boolean
    readonly begun?: readonly (BlockStart & { readonly limit: number })[] | undefined
  },
): Decision {
  const { allowed, degraded, now } = source
  const entries = limits.map((limit, i) =>
    limitDecision(limit.name, limit.policy, verdicts[i] as Verdict, now),
  )
  const blocks = verdicts.slice(limits.length).filter((verdict) => !verdict.allowed)
  const isBlocked = blocks.length > 0
  const waits = [...entries, ...blocks.map((verdict) => limitDecision("block", blockPolicy, verdict, now))]
  const tightest = entries.reduce((a, b) => (b.remaining < a.remaining ? b : a))
  const slowest = waits.reduce((a, b) => (b.retryAfterMs > a.retryAfterMs ? b : a))
  const last = waits.reduce((a, b) => (b.resetAfterMs > a.resetAfterMs ? b : a))
  return {
    allowed,
    limit: tightest.limit,
    remaining: isBlocked ? 0 : tightest.remaining,
    used: tightest.used,
    windowMs: tightest.windowMs,
    retryAfterMs: slowest.retryAfterMs,
    resetAfterMs: last.resetAfterMs,
    resetAt: last.resetAt,
    delayMs: allowed ? Math.max(...verdicts.map((verdict) => verdict.delay)) / 1000 : 0,
    deniedBy: allowed ? undefined : isBlocked ? "block" : slowest.name,
    degraded,
    ...(source.begun === undefined
      ? {}
      : { begunBlocks: source.begun.map((block) => begunBlock(block, limits[block.limit]?.name)) }),
    ...(source.source === undefined ? {} : { source: source.source }),
    limits: limits.length > 1 ? entries : undefined,
  }
}

/** A block as decisions show it. */
export function begunBlock({ denials, blocks, length, until }: BlockStart, limit = ""): BegunBlock {
  return {
    limit,
    denials,
    earlier: blocks - 1,
    blockedForMs: length / 1000,
    blockedUntil: until / 1000,
  }
}

function limitDecision(name: string, policy: Policy, verdict: Verdict, now: number): LimitDecision {
  return {
    name,
    allowed: verdict.allowed,
    limit: policy.promisedCapacity,
    remaining: verdict.remaining,
    used: verdict.used,
    windowMs: policy.windowMs,
    retryAfterMs: verdict.retryAfter / 1000,
    resetAfterMs: verdict.resetAfter / 1000,
    resetAt: (now + verdict.resetAfter) / 1000,
  }
}

/** The fields of decisions that tell a client how long to wait, or until when. */
const WAITS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "retryAfterMs",
  "resetAfterMs",
  "resetAt",
  "delayMs",
  "blockedForMs",
  "blockedUntil",
])

/**
 * A replacer for `JSON.stringify` of decisions. Waits become whole milliseconds, rounded up so that waiting that long is enough.
 * JSON has no infinity: a wait that never ends becomes `"never"`, and a limit that does not exist becomes `null`.
 */
export function decisionReplacer(name: string, value: unknown): unknown {
  if (typeof value !== "number") return value
  if (value === Number.POSITIVE_INFINITY) return name === "limit" || name === "remaining" ? null : "never"
  return WAITS.has(name) ? Math.ceil(value) : value
}
