// The contract of an algorithm: arithmetic on a few numbers of state, without a clock, storage or allocation. Times and
// durations are whole microseconds.

import type { Calendar } from "./calendar.js"

export type AlgorithmName =
  | "fixed-window"
  | "sliding-window-log"
  | "sliding-window-counter"
  | "token-bucket"
  | "leaky-bucket"
  | "gcra"
  | "concurrency"

/** An algorithm with its numbers, precomputed so that a check only adds and compares. */
export interface Policy {
  readonly algorithm: Algorithm
  /** Units per window. */
  readonly limit: number
  readonly window: number
  /** The largest cost that can ever be allowed: the burst where there is one, else the limit. */
  readonly capacity: number
  /** sliding-window-counter: how many buckets, and how long each is. */
  readonly buckets: number
  readonly bucketSize: number
  /** token-bucket, leaky-bucket, gcra: ticks per unit, ticks drained per µs, and ticks in a full bucket. Else 0. */
  readonly token: number
  readonly leak: number
  readonly full: number
  /** fixed-window: the window starts at the first charged request instead of at a multiple of its length. */
  readonly anchored: boolean
  /** fixed-window: the windows of a calendar, which differ in length. `window` is then their usual length. */
  readonly calendar: Calendar | undefined
  /** leaky-bucket: allowed requests are delayed so that they leave evenly spaced. */
  readonly queue: boolean
  /** How long an instance may hold units of this limit before it spends them, in µs. 0: every check asks the store. */
  readonly lease: number
  /**
   * What the user asked for. A policy with leases decides with less, so that units that are spent late never exceed it: buckets
   * have a smaller `capacity`, and the sliding log has a longer `window`.
   */
  readonly promisedCapacity: number
  readonly promisedWindow: number
  /** `promisedWindow` in milliseconds, as decisions show it. */
  readonly windowMs: number
  /** block: when denials of a limit block the key. */
  readonly penalty?: Penalty
}

/** When denials of a limit block a key, and for how long. Times are in microseconds. */
export interface Penalty {
  /** So many denials within this time block the key. The time begins with the first of them. */
  readonly after: number
  readonly within: number
  /** The first block. Each further one is `factor` times as long, at most `max`. */
  readonly block: number
  readonly factor: number
  readonly max: number
  /** So long after a block without another one, the next one is a first one again. */
  readonly forget: number
}

/** The decision of an algorithm about one charge. Calls reuse verdicts: copy what you keep. */
export interface Verdict {
  allowed: boolean
  /**
   * The largest cost that would be allowed now, after this decision. Algorithms pass it through `Math.max`, `Math.floor` or
   * `| 0`: V8 then stores it as a small integer, not as a heap number in every decision.
   */
  remaining: number
  /**
   * Units that count now, after this decision, rounded up. More than the capacity if units were charged without a decision or the
   * limit was lowered. A small integer for V8, as `remaining`.
   */
  used: number
  /** 0 if allowed; Infinity if the cost can never fit. A cost of 0 asks how long until one unit fits. */
  retryAfter: number
  /** Until the state equals that of a key that was never used. */
  resetAfter: number
  /** How long to hold the allowed request (leaky bucket that queues). */
  delay: number
  /**
   * Whether the state was written under another window length, another rate, or a clock more than one window ahead. Such a state
   * is settled even if the request is denied: otherwise every check would read the old state again, and the wait would never end.
   */
  stale: boolean
}

/** The state of a key that was never used, long enough for every algorithm. Nobody writes to it. */
export const EMPTY_STATE: Float64Array = /* @__PURE__ */ new Float64Array(4_096)

export function newVerdict(): Verdict {
  return { allowed: false, remaining: 0, used: 0, retryAfter: 0, resetAfter: 0, delay: 0, stale: false }
}

/**
 * The state of a key is a run of numbers ("cells") in an array, starting at `at`. All zeros is a key that was never used.
 * `decide` only reads. `charge` and `refund` first settle the state: they convert it to the time `now` and to the numbers of the
 * policy.
 */
export interface Algorithm {
  readonly name: AlgorithmName | "block"
  /** How many cells one state takes. For a state that grows, the smallest number. */
  cells(policy: Policy): number
  /** Set if states grow: the sliding log and concurrency. */
  readonly growing?: GrowingState
  /** Only of concurrency. */
  readonly holds?: HoldOperations
  decide(policy: Policy, cells: Float64Array, at: number, cost: number, now: number, verdict: Verdict): void
  /** `decide`, then `charge` if allowed; a stale state is settled if denied. */
  check(policy: Policy, cells: Float64Array, at: number, cost: number, now: number, verdict: Verdict): void
  /** Adds `cost` without deciding. A cost of 0 only settles the state. */
  charge(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void
  /**
   * Takes `cost` away, at most what is charged now. `chargedAt` says when the units were charged: then at most what still counts
   * of them is taken away, and nothing that others were charged.
   */
  refund(
    policy: Policy,
    cells: Float64Array,
    at: number,
    cost: number,
    now: number,
    chargedAt?: number | undefined,
  ): void
  /** Units that still count at `now`, rounded up. */
  used(policy: Policy, cells: Float64Array, at: number, now: number): number
  /** When the state equals that of a key that was never used, so that it may be deleted. */
  expiresAt(policy: Policy, cells: Float64Array, at: number): number
}

/** A state that grows: its first cell says how many entries it has room for, a power of two. */
export interface GrowingState {
  /** How many cells a state with room for so many entries takes. */
  cells(room: number): number
  /** Writes a state with room for `room` entries at `at`: empty, or a copy of the state at `fromAt` in `from`. */
  init(cells: Float64Array, at: number, room: number, from?: Float64Array, fromAt?: number): void
  /** Whether there is no room for another entry. */
  isFull(cells: Float64Array, at: number): boolean
  /** Brings a state to `now`, which removes entries that no longer count. */
  settle(policy: Policy, cells: Float64Array, at: number, now: number): unknown
}

/** What stores do with single holds. A hold is known by the two halves of its id. */
export interface HoldOperations {
  /** Names the hold that was charged last, if it has no name yet. */
  nameLast(cells: Float64Array, at: number, high: number, low: number): void
  /** Whether the state has a hold with this id that has not ended. */
  isHeld(cells: Float64Array, at: number, high: number, low: number, now: number): boolean
  /** Ends a hold. False if it has ended already. */
  release(cells: Float64Array, at: number, high: number, low: number, now: number): boolean
  /** Lets a hold begin again: it ends as one that is acquired now. */
  extend(policy: Policy, cells: Float64Array, at: number, high: number, low: number, now: number): void
}

/** `check` as its two steps, for algorithms that gain nothing from a single step. */
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

/** Writes the verdict on a cost that can never fit. */
export function never(verdict: Verdict, remaining: number, used: number, resetAfter: number): void {
  verdict.allowed = false
  verdict.remaining = remaining
  verdict.used = used
  verdict.retryAfter = Number.POSITIVE_INFINITY
  verdict.resetAfter = resetAfter
  verdict.delay = 0
}
