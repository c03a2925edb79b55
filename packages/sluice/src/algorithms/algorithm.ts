// What every algorithm is: arithmetic over a few numbers of state. No clock, no storage, no allocation.
// Times and durations are whole microseconds.

export type AlgorithmName =
  | "fixed-window"
  | "sliding-window-log"
  | "sliding-window-counter"
  | "token-bucket"
  | "leaky-bucket"
  | "gcra"

/** An algorithm with its numbers, worked out once so that a check only adds and compares. */
export interface Policy {
  readonly algorithm: Algorithm
  /** Units per window. */
  readonly limit: number
  readonly window: number
  /** The most that can ever fit at once: the burst where there is one, else the limit. */
  readonly capacity: number
  /** sliding-window-counter: how many buckets, and how long each is. */
  readonly buckets: number
  readonly bucketSize: number
  /** Buckets that drain: ticks per unit, ticks drained per µs, and ticks in a full bucket. */
  readonly token: number
  readonly leak: number
  readonly full: number
  /** fixed-window: the window starts at the first charged request instead of at a multiple of itself. */
  readonly anchored: boolean
  /** leaky-bucket: admitted requests are held so that they leave evenly spaced. */
  readonly queue: boolean
}

/** What an algorithm says of one charge. Reused between calls: copy what you keep. */
export interface Verdict {
  allowed: boolean
  /**
   * The largest cost that would be allowed now, after this decision. Always from `Math.max`, `Math.floor` or 32 bits: what
   * is worked out from cells is a double to the engine, and would be kept in a box of its own in every decision; from these
   * it comes as the integer it is.
   */
  remaining: number
  /** 0 when allowed; Infinity when the cost can never fit. */
  retryAfter: number
  /** Until the state is as if it had never been used. */
  resetAfter: number
  /** How long to hold the admitted request (queueing leaky bucket). */
  delay: number
  /**
   * The state was written in other terms (a clock more than one window ahead, another window length). Settle it even
   * when the request is denied: otherwise it would be re-read in its old terms for ever and the wait never end.
   */
  stale: boolean
}

/** The state of a key that was never used, long enough for every algorithm. Nobody writes to it. */
export const EMPTY_STATE = /* @__PURE__ */ new Float64Array(4_096)

export function newVerdict(): Verdict {
  return { allowed: false, remaining: 0, retryAfter: 0, resetAfter: 0, delay: 0, stale: false }
}

/**
 * State is a run of numbers ("cells") inside an array, starting at `at`; all zeros is a key that was never used.
 * `decide` only reads. `charge` and `refund` bring the state to `now` in the policy's terms, then add or take.
 */
export interface Algorithm {
  readonly name: AlgorithmName | "block"
  /** How many cells one state takes. The sliding log grows and says its smallest. */
  cells(policy: Policy): number
  decide(policy: Policy, cells: Float64Array, at: number, cost: number, now: number, verdict: Verdict): void
  /** `decide`, then `charge` when allowed; a stale state is settled when denied. In one step, for the hot path. */
  check(policy: Policy, cells: Float64Array, at: number, cost: number, now: number, verdict: Verdict): void
  /** Adds `cost` without asking. A cost of 0 only settles the state. */
  charge(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void
  /** Gives back at most what is charged now. */
  refund(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void
  /** Units charged and not yet forgotten, rounded up. */
  used(policy: Policy, cells: Float64Array, at: number, now: number): number
  /** When the state is as good as none. */
  expiresAt(policy: Policy, cells: Float64Array, at: number): number
}

/** `check` made of its two steps, for algorithms that gain nothing from doing it in one. */
export function checkInTwoSteps(
  this: Algorithm,
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  this.decide(policy, cells, at, cost, now, verdict)
  if (cost > 0 && (verdict.allowed || verdict.stale)) {
    this.charge(policy, cells, at, verdict.allowed ? cost : 0, now)
  }
}

/** The verdict on a cost that can never fit. */
export function never(verdict: Verdict, remaining: number, resetAfter: number): void {
  verdict.allowed = false
  verdict.remaining = remaining
  verdict.retryAfter = Number.POSITIVE_INFINITY
  verdict.resetAfter = resetAfter
  verdict.delay = 0
}
