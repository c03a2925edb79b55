// The arithmetic shared by token bucket, leaky bucket and GCRA. They are one machine seen from three sides: a debt that
// drains at limit/window and may not exceed the capacity.
//
// Debt is counted in ticks: one unit is `token` ticks and `leak` ticks drain per µs (window and limit divided by their
// greatest common divisor). No fraction ever enters, so 7 per second is 7 per second for ever.
//
// State: [debt in ticks, time of the last update, ticks per unit when it was written].

import type { Algorithm, AlgorithmName, Policy, Verdict } from "./algorithm.js"
import { mulDivCeil } from "./exact.js"

const DEBT = 0
const TIME = 1
const TOKEN = 2

const CELLS = 3

/** A state as it is at some time in a policy's terms, so that deciding never touches the original. */
const settled = new Float64Array(CELLS)

/** Settles a state, and returns the time it then lives at: `now`, or its own if that is later by no more than one window. */
function settle(policy: Policy, cells: Float64Array, at: number, now: number): number {
  const time = cells[at + TIME] as number
  const token = cells[at + TOKEN] as number
  let debt = cells[at + DEBT] as number
  // No debt, no time.
  const t = time <= now || time - now > policy.window || debt === 0 ? now : time
  // Compared first: a debt many times the new bucket is beyond what translates exactly.
  if (debt > 0 && token !== policy.token)
    debt = debt >= policy.capacity * token ? policy.full : mulDivCeil(debt, policy.token, token)
  // A lowered burst must not lock a key out for longer than the new bucket takes to drain.
  if (debt > policy.full) debt = policy.full
  settled[DEBT] = t > time ? Math.max(debt - (t - time) * policy.leak, 0) : debt
  settled[TIME] = t
  settled[TOKEN] = policy.token
  return t
}

function decide(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const t = settle(policy, cells, at, now)
  check(policy, settled, 0, cost, t, verdict)
  // Waits are told from the caller's time. The state's may lie ahead of it, but never without a debt.
  const ahead = t - now
  if (!verdict.allowed) verdict.retryAfter += ahead
  else if (policy.queue) verdict.delay += ahead
  verdict.resetAfter += ahead
  verdict.foreign = (cells[at + TIME] as number) - now > policy.window
}

/** `decide`, then `charge`; in one go for a state in the policy's own terms that is not ahead of `now`: nearly all are. */
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
    checkOther(policy, cells, at, cost, now, verdict)
    return
  }
  let debt = written - (now - time) * policy.leak
  if (debt < 0) debt = 0
  const need = cost * token
  const room = full - debt
  const allowed = need <= room
  verdict.allowed = allowed
  verdict.foreign = false
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
): void {
  decide(policy, cells, at, cost, now, verdict)
  if (cost > 0 && (verdict.allowed || verdict.foreign)) cells.set(settled, at)
}

/** How long a debt takes to drain. */
function drainTime(policy: Policy, debt: number): number {
  return Math.ceil(debt / policy.leak)
}

function charge(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  cells[at + TIME] = settle(policy, cells, at, now)
  cells[at + DEBT] = Math.max((settled[DEBT] as number) + cost * policy.token, 0)
  cells[at + TOKEN] = policy.token
}

/** A charge of less than nothing; below zero there is nothing to give back. */
function refund(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  charge(policy, cells, at, -cost, now)
}

function used(policy: Policy, cells: Float64Array, at: number, now: number): number {
  settle(policy, cells, at, now)
  return Math.ceil((settled[DEBT] as number) / policy.token)
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
