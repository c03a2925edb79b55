// The arithmetic shared by token bucket, leaky bucket and GCRA. They are one machine seen from three sides: a debt that
// drains at limit/window and may not exceed the capacity.
//
// Debt is counted in ticks: one unit is `token` ticks and `leak` ticks drain per µs (window and limit divided by their
// greatest common divisor). No fraction ever enters, so 7 per second is 7 per second for ever.
//
// State: [debt in ticks, time of the last update, ticks per unit when it was written].

import type { Policy, Verdict } from "./algorithm.js"
import { never } from "./algorithm.js"
import { mulDivCeil } from "./exact.js"

const DEBT = 0
const TIME = 1
const TOKEN = 2

export const BUCKET_CELLS = 3

/** The time this state lives at: `now`, or its own if that is later by no more than one window. */
function settledTime(policy: Policy, time: number, now: number): number {
  return time <= now || time - now > policy.window ? now : time
}

/** The debt at `t`, in the ticks of this policy. */
function settledDebt(policy: Policy, cells: Float64Array, at: number, t: number): number {
  let debt = cells[at + DEBT] as number
  if (debt === 0) return 0
  const token = cells[at + TOKEN] as number
  if (token !== policy.token) debt = mulDivCeil(debt, policy.token, token)
  // A lowered burst must not lock a key out for longer than the new bucket takes to drain.
  if (debt > policy.full) debt = policy.full
  const elapsed = t - (cells[at + TIME] as number)
  if (elapsed <= 0) return debt
  const drained = elapsed * policy.leak
  return drained >= debt ? 0 : debt - drained
}

export function decideBucket(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const t = settledTime(policy, cells[at + TIME] as number, now)
  judge(policy, settledDebt(policy, cells, at, t), t - now, cost, verdict)
  verdict.foreign = (cells[at + TIME] as number) - now > policy.window
}

/** `decideBucket`, and the charge if it is allowed, with the debt worked out once. */
export function checkBucket(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const t = settledTime(policy, cells[at + TIME] as number, now)
  const debt = settledDebt(policy, cells, at, t)
  judge(policy, debt, t - now, cost, verdict)
  verdict.foreign = (cells[at + TIME] as number) - now > policy.window
  if (cost > 0 && (verdict.allowed || verdict.foreign)) {
    cells[at + DEBT] = verdict.allowed ? debt + cost * policy.token : debt
    cells[at + TIME] = t
    cells[at + TOKEN] = policy.token
  }
}

/** What a debt means for a cost. Waits are told from the caller's time, which may lie `ahead` before the state's. */
function judge(policy: Policy, debt: number, ahead: number, cost: number, verdict: Verdict): void {
  const { full, leak, token } = policy
  if (cost > policy.capacity) {
    const reset = debt === 0 ? 0 : ahead + Math.ceil(debt / leak)
    never(verdict, Math.floor((full - debt) / token), reset)
    return
  }
  const need = cost * token
  const room = full - debt
  const allowed = need <= room
  const after = allowed ? debt + need : debt
  verdict.allowed = allowed
  verdict.remaining = Math.floor((full - after) / token)
  verdict.retryAfter = allowed ? 0 : ahead + Math.ceil((need - room) / leak)
  verdict.resetAfter = after === 0 ? 0 : ahead + Math.ceil(after / leak)
  verdict.delay = policy.queue && allowed && debt !== 0 ? ahead + Math.ceil(debt / leak) : 0
}

export function chargeBucket(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
): void {
  const t = settledTime(policy, cells[at + TIME] as number, now)
  cells[at + DEBT] = settledDebt(policy, cells, at, t) + cost * policy.token
  cells[at + TIME] = t
  cells[at + TOKEN] = policy.token
}

export function refundBucket(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
): void {
  const t = settledTime(policy, cells[at + TIME] as number, now)
  const debt = settledDebt(policy, cells, at, t)
  const given = cost * policy.token
  cells[at + DEBT] = given >= debt ? 0 : debt - given
  cells[at + TIME] = t
  cells[at + TOKEN] = policy.token
}

export function usedBucket(policy: Policy, cells: Float64Array, at: number, now: number): number {
  const t = settledTime(policy, cells[at + TIME] as number, now)
  return Math.ceil(settledDebt(policy, cells, at, t) / policy.token)
}

export function bucketExpiresAt(policy: Policy, cells: Float64Array, at: number): number {
  const time = cells[at + TIME] as number
  return time + Math.ceil(settledDebt(policy, cells, at, time) / policy.leak)
}
