// The arithmetic shared by token bucket, leaky bucket and GCRA. They are one machine seen from three sides: a debt that
// drains at limit/window and may not exceed the capacity.
//
// Debt is counted in ticks: one unit is `token` ticks and `leak` ticks drain per µs (window and limit divided by their
// greatest common divisor). No fraction ever enters, so 7 per second is 7 per second for ever.
//
// State: [debt in ticks, time of the last update, ticks per unit and ticks drained per µs when it was written]. A debt drains
// at the rate it was charged under, until a call with another policy settles it in its own terms: what has drained is gone.

import type { Algorithm, AlgorithmName, Policy, Verdict } from "./algorithm.js"
import { MAX_EXACT, mulDivCeil } from "./exact.js"

const DEBT = 0
const TIME = 1
const TOKEN = 2
const LEAK = 3

const CELLS = 4

/** A state as it is at some time in a policy's terms, so that deciding never touches the original. */
const settled = new Float64Array(CELLS)
/**
 * The debt settled last, also what of it is beyond a full bucket of the policy: a check at another rate that is denied changes
 * the terms of a debt, and must not lessen it.
 */
let kept = 0

/** A debt in other ticks, rounded up. One that no ticks could count is the most they can. */
function translated(debt: number, from: number, to: number): number {
  if (from === to) return debt
  return (debt / from) * to >= MAX_EXACT ? MAX_EXACT : mulDivCeil(debt, to, from)
}

/**
 * Settles a state that drains by `leak`, and returns the time it then lives at: `now`, or its own if that is later by no more
 * than one window.
 */
function settle(policy: Policy, cells: Float64Array, at: number, now: number, leak: number): number {
  const time = cells[at + TIME] as number
  const token = cells[at + TOKEN] as number
  let debt = cells[at + DEBT] as number
  // No debt, no time.
  const t = time <= now || time - now > policy.window || debt === 0 ? now : time
  if (debt > 0 && (token !== policy.token || leak !== policy.leak)) {
    if (t > time) debt = Math.max(debt - (t - time) * leak, 0)
    kept = translated(debt, token, policy.token)
    debt = Math.min(kept, policy.full)
  } else {
    // A lowered burst must not lock a key out for longer than the new bucket takes to drain.
    if (debt > policy.full) debt = policy.full
    if (t > time) debt = Math.max(debt - (t - time) * policy.leak, 0)
    kept = debt
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
  // Waits are told from the caller's time. The state's may lie ahead of it, but never without a debt.
  const ahead = t - now
  if (!verdict.allowed) verdict.retryAfter += ahead
  else if (policy.queue) verdict.delay += ahead
  verdict.resetAfter += ahead
  const isOther = cells[at + TOKEN] !== policy.token || leak !== policy.leak
  verdict.stale = (cells[at + TIME] as number) - now > policy.window || (isOther && cells[at + DEBT] !== 0)
}

/**
 * `decide`, then `charge`; in one go for a state in the policy's own terms that is not ahead of `now`: nearly all are. Leaves
 * the cell of the rate alone.
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
    checkOther(policy, cells, at, cost, now, verdict, policy.leak)
    return
  }
  let debt = written - (now - time) * policy.leak
  if (debt < 0) debt = 0
  const need = cost * token
  const room = full - debt
  const allowed = need <= room
  verdict.allowed = allowed
  verdict.stale = false
  verdict.retryAfter = allowed ? 0 : waitFor(policy, cost, need - room)
  verdict.delay = allowed && policy.queue ? drainTime(policy, debt) : 0
  if (allowed) debt += need
  verdict.remaining = Math.floor((full - debt) / token)
  verdict.resetAfter = drainTime(policy, debt)
  if (allowed && cost > 0) {
    cells[at + DEBT] = debt
    cells[at + TIME] = now
  }
}

/** How long until a cost fits for which `excess` ticks are too many. */
function waitFor(policy: Policy, cost: number, excess: number): number {
  return cost > policy.capacity ? Number.POSITIVE_INFINITY : drainTime(policy, excess)
}

/** `check` in two steps: `decide` leaves in `settled` what is to be charged. */
function checkOther(
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
  cells[at + DEBT] = verdict.allowed ? (settled[DEBT] as number) : kept
  cells[at + TIME] = settled[TIME] as number
  cells[at + TOKEN] = policy.token
}

/** How long a debt takes to drain. */
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
  // Less than nothing for a refund; below zero there is nothing to give back.
  cells[at + DEBT] = Math.max(kept + cost * policy.token, 0)
  cells[at + TOKEN] = policy.token
}

function used(policy: Policy, cells: Float64Array, at: number, now: number, leak: number): number {
  settle(policy, cells, at, now, leak)
  return Math.ceil((settled[DEBT] as number) / policy.token)
}

/** Not clipped to a policy's burst: another may have let the debt grow beyond it. */
function expiresAt(cells: Float64Array, at: number, leak: number): number {
  const debt = cells[at + DEBT] as number
  return (cells[at + TIME] as number) + (debt === 0 ? 0 : Math.ceil(debt / leak))
}

/** A bucket under one of the names people know it by. */
export function bucketNamed(name: AlgorithmName): Algorithm {
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
        checkOther(policy, cells, at, cost, now, verdict, leak)
        if (cost > 0 && (verdict.allowed || verdict.stale)) cells[at + LEAK] = policy.leak
      }
    },
    charge(policy, cells, at, cost, now) {
      charge(policy, cells, at, cost, now, cells[at + LEAK] as number)
      cells[at + LEAK] = policy.leak
    },
    refund(policy, cells, at, cost, now) {
      charge(policy, cells, at, -cost, now, cells[at + LEAK] as number)
      cells[at + LEAK] = policy.leak
    },
    used: (policy, cells, at, now) => used(policy, cells, at, now, cells[at + LEAK] as number),
    expiresAt: (_policy, cells, at) => expiresAt(cells, at, cells[at + LEAK] as number),
  }
}

/** The same without the cell of the rate, for states that were all written at the rate of the policy they are read with. */
export const bucketOfOneRate: Algorithm = {
  name: "token-bucket",
  cells: () => LEAK,
  decide(policy, cells, at, cost, now, verdict) {
    decide(policy, cells, at, cost, now, verdict, policy.leak)
  },
  check,
  charge: (policy, cells, at, cost, now) => charge(policy, cells, at, cost, now, policy.leak),
  refund: (policy, cells, at, cost, now) => charge(policy, cells, at, -cost, now, policy.leak),
  used: (policy, cells, at, now) => used(policy, cells, at, now, policy.leak),
  expiresAt: (policy, cells, at) => expiresAt(cells, at, policy.leak),
}
