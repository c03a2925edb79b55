// The arithmetic shared by token bucket, leaky bucket and GCRA. They are one machine seen from three sides: a debt that
// drains at limit/window and may not exceed the capacity.
//
// Debt is counted in ticks: one unit is `token` ticks and `leak` ticks drain per µs (window and limit divided by their
// greatest common divisor). No fraction ever enters, so 7 per second is 7 per second for ever.
//
// State: [debt in ticks, time of the last update, ticks per unit when it was written].

import type { Algorithm, AlgorithmName, Policy, Verdict } from "./algorithm.js"
import { never } from "./algorithm.js"
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

/** `decide`, and the charge if it is allowed, with the debt worked out once. */
function check(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const t = settledTime(policy, cells, at, now)
  const debt = settledDebt(policy, cells, at, t)
  judge(policy, debt, t - now, cost, verdict)
  verdict.foreign = (cells[at + TIME] as number) - now > policy.window
  if (cost > 0 && (verdict.allowed || verdict.foreign)) {
    cells[at + DEBT] = verdict.allowed ? debt + cost * policy.token : debt
    cells[at + TIME] = t
    cells[at + TOKEN] = policy.token
  }
}

/** How long a debt takes to drain. Most limits divide their window, and then a tick drains in each µs. */
function drainTime(policy: Policy, debt: number): number {
  return policy.leak === 1 ? debt : Math.ceil(debt / policy.leak)
}

/** What a debt means for a cost. Waits are told from the caller's time, which may lie `ahead` before the state's. */
function judge(policy: Policy, debt: number, ahead: number, cost: number, verdict: Verdict): void {
  const { full, token } = policy
  if (cost > policy.capacity) {
    never(verdict, Math.floor((full - debt) / token), debt === 0 ? 0 : ahead + drainTime(policy, debt))
    return
  }
  const need = cost * token
  const room = full - debt
  const allowed = need <= room
  const after = allowed ? debt + need : debt
  verdict.allowed = allowed
  verdict.remaining = Math.floor((full - after) / token)
  verdict.retryAfter = allowed ? 0 : ahead + drainTime(policy, need - room)
  verdict.resetAfter = after === 0 ? 0 : ahead + drainTime(policy, after)
  verdict.delay = policy.queue && allowed && debt !== 0 ? ahead + drainTime(policy, debt) : 0
}

function charge(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  const t = settledTime(policy, cells, at, now)
  cells[at + DEBT] = settledDebt(policy, cells, at, t) + cost * policy.token
  cells[at + TIME] = t
  cells[at + TOKEN] = policy.token
}

function refund(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  const t = settledTime(policy, cells, at, now)
  const debt = settledDebt(policy, cells, at, t)
  const given = cost * policy.token
  cells[at + DEBT] = given >= debt ? 0 : debt - given
  cells[at + TIME] = t
  cells[at + TOKEN] = policy.token
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
