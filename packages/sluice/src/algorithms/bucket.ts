// The arithmetic shared by token bucket, leaky bucket and GCRA. They are one machine seen from three sides: a debt that
// drains at limit/window and may not exceed the capacity.
//
// Debt is counted in ticks: one unit is `token` ticks and `leak` ticks drain per µs (window and limit divided by their
// greatest common divisor). No fraction ever enters, so 7 per second is 7 per second for ever.
//
// State: [debt in ticks, time of the last update, ticks per unit when it was written].

import type { Algorithm, AlgorithmName, Policy, Verdict } from "./algorithm.js"
import { checkInTwoSteps } from "./algorithm.js"
import { mulDivCeil } from "./exact.js"

const DEBT = 0
const TIME = 1
const TOKEN = 2

const CELLS = 3

/** The time this state lives at: `now`, or its own if that is later by no more than one window. No debt, no time. */
function settledTime(policy: Policy, cells: Float64Array, at: number, now: number): number {
  const time = cells[at + TIME] as number
  return time <= now || time - now > policy.window || cells[at + DEBT] === 0 ? now : time
}

/** The debt at `t`, in the ticks of this policy. */
function settledDebt(policy: Policy, cells: Float64Array, at: number, t: number): number {
  let debt = cells[at + DEBT] as number
  if (debt === 0) return 0
  const token = cells[at + TOKEN] as number
  // Compared first: a debt many times the new bucket is beyond what translates exactly.
  if (token !== policy.token)
    debt = debt >= policy.capacity * token ? policy.full : mulDivCeil(debt, policy.token, token)
  // A lowered burst must not lock a key out for longer than the new bucket takes to drain.
  if (debt > policy.full) debt = policy.full
  const elapsed = t - (cells[at + TIME] as number)
  if (elapsed <= 0) return debt
  const drained = elapsed * policy.leak
  return drained >= debt ? 0 : debt - drained
}

function decide(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const t = settledTime(policy, cells, at, now)
  judge(policy, settledDebt(policy, cells, at, t), t - now, cost, verdict)
  verdict.foreign = (cells[at + TIME] as number) - now > policy.window
}

/** `decide`, then `charge`; in one go for a state in the policy's own terms that is not ahead of `now`: nearly all are. */
function check(
  this: Algorithm,
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const time = cells[at + TIME] as number
  let debt = cells[at + DEBT] as number
  if (cells[at + TOKEN] !== policy.token || time > now || debt > policy.full) {
    checkInTwoSteps.call(this, policy, cells, at, cost, now, verdict)
    return
  }
  const drained = (now - time) * policy.leak
  debt = drained < debt ? debt - drained : 0
  const after = judge(policy, debt, 0, cost, verdict)
  verdict.foreign = false
  if (verdict.allowed && cost > 0) {
    cells[at + DEBT] = after
    cells[at + TIME] = now
  }
}

/** How long a debt takes to drain. Most limits divide their window, and then a tick drains in each µs. */
function drainTime(policy: Policy, debt: number): number {
  return policy.leak === 1 ? debt : Math.ceil(debt / policy.leak)
}

/**
 * What a debt means for a cost; returns the debt after it. Waits are told from the caller's time, which may lie `ahead`
 * before the state's; never without a debt, which alone keeps a state ahead.
 */
function judge(policy: Policy, debt: number, ahead: number, cost: number, verdict: Verdict): number {
  const { full, token } = policy
  const need = cost * token
  const room = full - debt
  verdict.retryAfter = 0
  verdict.delay = 0
  if (need <= room) {
    verdict.allowed = true
    if (policy.queue) verdict.delay = ahead + drainTime(policy, debt)
    debt += need
  } else {
    verdict.allowed = false
    const never = cost > policy.capacity
    verdict.retryAfter = never ? Number.POSITIVE_INFINITY : ahead + drainTime(policy, need - room)
  }
  verdict.remaining = Math.floor((full - debt) / token)
  verdict.resetAfter = ahead + drainTime(policy, debt)
  return debt
}

function charge(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  const t = settledTime(policy, cells, at, now)
  cells[at + DEBT] = Math.max(0, settledDebt(policy, cells, at, t) + cost * policy.token)
  cells[at + TIME] = t
  cells[at + TOKEN] = policy.token
}

/** A charge of less than nothing; below zero there is nothing to give back. */
function refund(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  charge(policy, cells, at, -cost, now)
}

function used(policy: Policy, cells: Float64Array, at: number, now: number): number {
  const t = settledTime(policy, cells, at, now)
  return Math.ceil(settledDebt(policy, cells, at, t) / policy.token)
}

/** Not clipped to this policy's burst: another may have let the debt grow beyond it. */
function expiresAt(policy: Policy, cells: Float64Array, at: number): number {
  const debt = cells[at + DEBT] as number
  const token = cells[at + TOKEN] as number
  const time = cells[at + TIME] as number
  if (debt === 0 || token === policy.token) return time + drainTime(policy, debt)
  // In other ticks: one µs more than the fraction says is late enough.
  return time + Math.ceil(((debt / token) * policy.token) / policy.leak) + 1
}

/** A bucket under one of the names people know it by. */
export function bucketNamed(name: AlgorithmName): Algorithm {
  return { name, cells: () => CELLS, decide, check, charge, refund, used, expiresAt }
}
