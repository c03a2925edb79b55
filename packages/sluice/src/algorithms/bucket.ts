// Token bucket, leaky bucket and GCRA: one algorithm under three names. A debt drains at limit/window and may not exceed the
// capacity.
//
// The debt is counted in ticks: one unit is `token` ticks, and `leak` ticks drain per µs (window and limit divided by their
// greatest common divisor). There are no fractions, so 7 per second is exactly 7 per second for ever.
//
// State: [debt in ticks, time of the last update, ticks per unit, ticks drained per µs]. A debt drains at the rate it was charged
// under, until a call with another policy converts it to its own ticks.

import type { Algorithm, AlgorithmName, Policy, Verdict } from "./algorithm.js"
import { MAX_EXACT, mulDivCeil } from "./exact.js"

const DEBT = 0
const TIME = 1
const TOKEN = 2
const LEAK = 3

const CELLS = 4

/** The state settled last: a copy, so that deciding never changes the original. */
const settled = new Float64Array(CELLS)
/**
 * The debt settled last, including what exceeds a full bucket of the policy. A denied check at another rate converts the debt to
 * other ticks and must not reduce it.
 */
let fullDebt = 0

/** Converts a debt to other ticks, rounded up and at most MAX_EXACT. */
function convertDebt(debt: number, from: number, to: number): number {
  if (from === to) return debt
  return (debt / from) * to >= MAX_EXACT ? MAX_EXACT : mulDivCeil(debt, to, from)
}

/**
 * Writes the state at `now` into `settled` and returns its time: `now`, or the time of the state if that is later by at most one
 * window. `leak` is the rate at which the state drains.
 */
function settle(policy: Policy, cells: Float64Array, at: number, now: number, leak: number): number {
  const time = cells[at + TIME] as number
  const token = cells[at + TOKEN] as number
  let debt = cells[at + DEBT] as number
  // A state without debt is that of a new key: its time does not count.
  const t = time <= now || time - now > policy.window || debt === 0 ? now : time
  if (debt > 0 && (token !== policy.token || leak !== policy.leak)) {
    if (t > time) debt = Math.max(debt - (t - time) * leak, 0)
    fullDebt = convertDebt(debt, token, policy.token)
    debt = Math.min(fullDebt, policy.full)
  } else {
    // If the burst was lowered, a key is denied at most as long as the new bucket takes to drain.
    if (debt > policy.full) debt = policy.full
    if (t > time) debt = Math.max(debt - (t - time) * policy.leak, 0)
    fullDebt = debt
  }
  settled[DEBT] = debt
  settled[TIME] = t
  settled[TOKEN] = policy.token
  settled[LEAK] = policy.leak
  return t
}

function decide(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
  leak: number,
): void {
  const t = settle(policy, cells, at, now, leak)
  check(policy, settled, 0, cost, t, verdict)
  // Waits count from the caller's time; the time of the state may be ahead of it.
  const ahead = t - now
  if (verdict.retryAfter > 0) verdict.retryAfter += ahead
  if (verdict.allowed && policy.queue) verdict.delay += ahead
  verdict.resetAfter += ahead
  const isOther = cells[at + TOKEN] !== policy.token || leak !== policy.leak
  verdict.stale = (cells[at + TIME] as number) - now > policy.window || (isOther && cells[at + DEBT] !== 0)
}

/**
 * `decide`, then `charge`, in one step if the state has the policy's numbers and is not ahead of `now`, as nearly all are. Does
 * not write the LEAK cell.
 */
function check(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const { full, token } = policy
  const time = cells[at + TIME] as number
  const written = cells[at + DEBT] as number
  if (cells[at + TOKEN] !== token || time > now || written > full) {
    checkSettled(policy, cells, at, cost, now, verdict, policy.leak)
    return
  }
  let debt = written - (now - time) * policy.leak
  if (debt < 0) debt = 0
  const need = cost * token
  const room = full - debt
  const allowed = need <= room
  const asked = need || token
  verdict.allowed = allowed
  verdict.stale = false
  verdict.retryAfter = asked <= room ? 0 : waitFor(policy, cost, asked - room)
  verdict.delay = allowed && policy.queue ? drainTime(policy, debt) : 0
  if (allowed) debt += need
  const remaining = Math.floor((full - debt) / token)
  verdict.remaining = remaining
  verdict.used = policy.capacity - remaining
  verdict.resetAfter = drainTime(policy, debt)
  if (allowed && cost > 0) {
    cells[at + DEBT] = debt
    cells[at + TIME] = now
  }
}

/** How long until a cost fits that now exceeds the bucket by `excess` ticks. */
function waitFor(policy: Policy, cost: number, excess: number): number {
  return cost > policy.capacity ? Number.POSITIVE_INFINITY : drainTime(policy, excess)
}

/** `check` in two steps, for any state: `decide` leaves the charged state in `settled`. */
function checkSettled(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
  leak: number,
): void {
  decide(policy, cells, at, cost, now, verdict, leak)
  if (cost === 0 || !(verdict.allowed || verdict.stale)) return
  cells[at + DEBT] = verdict.allowed ? (settled[DEBT] as number) : fullDebt
  cells[at + TIME] = settled[TIME] as number
  cells[at + TOKEN] = policy.token
}

function drainTime(policy: Policy, debt: number): number {
  return Math.ceil(debt / policy.leak)
}

function charge(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  leak: number,
): void {
  cells[at + TIME] = settle(policy, cells, at, now, leak)
  cells[at + DEBT] = fullDebt + cost * policy.token
  cells[at + TOKEN] = policy.token
}

function refund(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  leak: number,
  chargedAt: number | undefined,
): void {
  const t = settle(policy, cells, at, now, leak)
  const units = chargedAt === undefined ? cost : undrained(policy, cost, t - chargedAt)
  cells[at + TIME] = t
  cells[at + DEBT] = Math.max(fullDebt - units * policy.token, 0)
  cells[at + TOKEN] = policy.token
}

/**
 * What is left of `cost` units after `elapsed` µs, if all that drained was theirs. Whatever else was charged, the debt without
 * these units is smaller than the debt with them by at least that much.
 */
function undrained({ leak, token }: Policy, cost: number, elapsed: number): number {
  if (elapsed <= 0) return cost
  if ((elapsed / token) * leak >= cost) return 0
  return Math.max(cost - mulDivCeil(elapsed, leak, token), 0)
}

function used(policy: Policy, cells: Float64Array, at: number, now: number, leak: number): number {
  settle(policy, cells, at, now, leak)
  return Math.ceil((settled[DEBT] as number) / policy.token)
}

/** Without the bound of a policy's burst, because another policy may have let the debt grow beyond it. */
function expiresAt(cells: Float64Array, at: number, leak: number): number {
  const debt = cells[at + DEBT] as number
  return (cells[at + TIME] as number) + (debt === 0 ? 0 : Math.ceil(debt / leak))
}

function bucketNamed(name: AlgorithmName): Algorithm {
  return {
    name,
    cells: () => CELLS,
    decide(policy, cells, at, cost, now, verdict) {
      decide(policy, cells, at, cost, now, verdict, cells[at + LEAK] as number)
    },
    check(policy, cells, at, cost, now, verdict) {
      const leak = cells[at + LEAK] as number
      if (leak === policy.leak) check(policy, cells, at, cost, now, verdict)
      else {
        checkSettled(policy, cells, at, cost, now, verdict, leak)
        if (cost > 0 && (verdict.allowed || verdict.stale)) cells[at + LEAK] = policy.leak
      }
    },
    charge(policy, cells, at, cost, now) {
      charge(policy, cells, at, cost, now, cells[at + LEAK] as number)
      cells[at + LEAK] = policy.leak
    },
    refund(policy, cells, at, cost, now, chargedAt) {
      refund(policy, cells, at, cost, now, cells[at + LEAK] as number, chargedAt)
      cells[at + LEAK] = policy.leak
    },
    used: (policy, cells, at, now) => used(policy, cells, at, now, cells[at + LEAK] as number),
    expiresAt: (_policy, cells, at) => expiresAt(cells, at, cells[at + LEAK] as number),
  }
}

/** Tokens come back at limit/window, up to `burst`. The debt is what is missing from a full bucket. */
export const tokenBucket = /* @__PURE__ */ bucketNamed("token-bucket")

/** Water drains at limit/window and may not rise above the capacity. With `queue`, a request waits for the water before it. */
export const leakyBucket = /* @__PURE__ */ bucketNamed("leaky-bucket")

/** As in redis-cell: `max_burst` and `count per period`. Decides like a token bucket with a capacity of max_burst + 1. */
export const gcra = /* @__PURE__ */ bucketNamed("gcra")

/** A bucket without the LEAK cell, for states that were all written at the rate of the policy they are read with. */
export const bucketOfOneRate: Algorithm = {
  name: "token-bucket",
  cells: () => LEAK,
  decide(policy, cells, at, cost, now, verdict) {
    decide(policy, cells, at, cost, now, verdict, policy.leak)
  },
  check,
  charge: (policy, cells, at, cost, now) => charge(policy, cells, at, cost, now, policy.leak),
  refund: (policy, cells, at, cost, now, chargedAt) =>
    refund(policy, cells, at, cost, now, policy.leak, chargedAt),
  used: (policy, cells, at, now) => used(policy, cells, at, now, policy.leak),
  expiresAt: (policy, cells, at) => expiresAt(cells, at, policy.leak),
}

/** Whether an algorithm is a bucket that drains. */
export function isBucket(name: Algorithm["name"]): boolean {
  return name === "token-bucket" || name === "leaky-bucket" || name === "gcra"
}
