// Token bucket, leaky bucket and GCRA: one algorithm under three names. A debt drains at limit/window and may not exceed the
// capacity.
//
// The debt is counted in ticks: one unit is `token` ticks, and `leak` ticks drain per µs (window and limit divided by their
// greatest common divisor). There are no fractions, so 7 per second is exactly 7 per second for ever.
//
// State: [debt in ticks, time of the last update, capacity in units, ticks per unit, ticks drained per µs]. The last three are
// from the policy that charged the debt. A debt drains at the rate it was charged under, until a call with another policy
// converts it to its own ticks.
//
// A charge without a decision may take the debt beyond a full bucket: an overdraft. It counts in full as long as the capacity
// stays the same. Under another capacity a debt counts at most as a full bucket, so that a key is not locked out for longer than
// the new bucket takes to drain.

import type { Algorithm, AlgorithmName, Policy, Verdict } from "./algorithm.js"
import { MAX_EXACT, mulDivCeil } from "./exact.js"

const DEBT = 0
const TIME = 1
const CAPACITY = 2
const TOKEN = 3
const LEAK = 4

const CELLS = 5
/** States of one rate end before the TOKEN cell. */
const CELLS_OF_ONE_RATE = TOKEN

/** The ticks of a state, if they are not those of the policy it is read with. */
interface Ticks {
  readonly token: number
  readonly leak: number
}

/** The debt and the time of the state that `settle` read last, as the policy counts them. */
let debt = 0
let time = 0
/**
 * The same debt with what exceeds a full bucket of the policy, and the capacity it was charged under. A call at another rate
 * that charges nothing converts a debt to other ticks and must not reduce it.
 */
let wholeDebt = 0
let wholeCapacity = 0

/** Converts a debt to other ticks, rounded up and at most MAX_EXACT. */
function convertDebt(ticks: number, from: number, to: number): number {
  if (from === to) return ticks
  return (ticks / from) * to >= MAX_EXACT ? MAX_EXACT : mulDivCeil(ticks, to, from)
}

/** What counts of a debt under a policy. */
function counted(policy: Policy, ticks: number, capacity: number): number {
  return capacity === policy.capacity ? ticks : Math.min(ticks, policy.full)
}

/** Brings a debt to a later time. */
function drained(ticks: number, elapsed: number, leak: number): number {
  return elapsed > 0 ? Math.max(ticks - elapsed * leak, 0) : ticks
}

/**
 * Reads the state as it is at `now`. Its time becomes `now`, or stays if it is later by at most one window. `from` has the ticks of
 * the state.
 */
function settle(policy: Policy, cells: Float64Array, at: number, now: number, from: Ticks): void {
  const written = cells[at + DEBT] as number
  const writtenAt = cells[at + TIME] as number
  const capacity = cells[at + CAPACITY] as number
  // A state without debt is that of a new key: its time does not count.
  const isOver = writtenAt <= now || writtenAt - now > policy.window || written === 0
  time = isOver ? now : writtenAt
  if (isOfOtherRate(policy, written, from)) {
    wholeDebt = convertDebt(drained(written, time - writtenAt, from.leak), from.token, policy.token)
    wholeCapacity = capacity
    debt = counted(policy, wholeDebt, capacity)
  } else {
    debt = drained(counted(policy, written, capacity), time - writtenAt, policy.leak)
    wholeDebt = debt
    wholeCapacity = policy.capacity
  }
}

function isOfOtherRate(policy: Policy, ticks: number, { token, leak }: Ticks): boolean {
  return ticks > 0 && (token !== policy.token || leak !== policy.leak)
}

function decide(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
  from: Ticks,
): void {
  settle(policy, cells, at, now, from)
  judge(policy, debt, cost, verdict)
  // Waits count from the caller's time; the time of the state may be ahead of it.
  const ahead = time - now
  if (verdict.retryAfter > 0) verdict.retryAfter += ahead
  if (verdict.allowed && policy.queue) verdict.delay += ahead
  verdict.resetAfter += ahead
  const isFarAhead = (cells[at + TIME] as number) - now > policy.window
  verdict.stale = isFarAhead || isOfOtherRate(policy, cells[at + DEBT] as number, from)
}

/** Writes the verdict on a cost when `ticks` are the debt before it. */
function judge(policy: Policy, ticks: number, cost: number, verdict: Verdict): void {
  const { full, token } = policy
  const need = cost * token
  const allowed = need <= full - ticks
  const after = allowed ? ticks + need : ticks
  const room = Math.floor((full - after) / token)
  verdict.allowed = allowed
  verdict.stale = false
  verdict.remaining = Math.max(room, 0)
  verdict.used = policy.capacity - room
  verdict.retryAfter = waitFor(policy, ticks, cost)
  verdict.resetAfter = drainTime(policy, after)
  verdict.delay = allowed && policy.queue ? drainTime(policy, ticks) : 0
}

/** How long until a cost fits; of a cost of 0, until one unit fits. */
function waitFor(policy: Policy, ticks: number, cost: number): number {
  if (cost > policy.capacity) return Number.POSITIVE_INFINITY
  // No step exceeds MAX_EXACT, however large the debt is.
  const excess = ticks - (policy.full - (cost || 1) * policy.token)
  return excess > 0 ? drainTime(policy, excess) : 0
}

/**
 * `decide`, then `charge`, in one step if the state has the policy's ticks, is not ahead of `now` and has no overdraft, as nearly
 * all have. Does not write the cells of the ticks.
 */
function check(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const written = cells[at + DEBT] as number
  const writtenAt = cells[at + TIME] as number
  if (writtenAt > now || written > policy.full) {
    checkSettled(policy, cells, at, cost, now, verdict, policy)
    return
  }
  const ticks = Math.max(written - (now - writtenAt) * policy.leak, 0)
  judge(policy, ticks, cost, verdict)
  if (verdict.allowed && cost > 0) write(cells, at, ticks + cost * policy.token, now, policy.capacity)
}

/** `check` in two steps, for any state. */
function checkSettled(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
  from: Ticks,
): void {
  decide(policy, cells, at, cost, now, verdict, from)
  if (cost > 0 && (verdict.allowed || verdict.stale)) add(policy, cells, at, verdict.allowed ? cost : 0)
}

/** Charges the state that `settle` read last. */
function add(policy: Policy, cells: Float64Array, at: number, cost: number): void {
  if (cost === 0) write(cells, at, wholeDebt, time, wholeCapacity)
  else write(cells, at, Math.min(debt + cost * policy.token, MAX_EXACT), time, policy.capacity)
}

function write(cells: Float64Array, at: number, ticks: number, writtenAt: number, capacity: number): void {
  cells[at + DEBT] = ticks
  cells[at + TIME] = writtenAt
  cells[at + CAPACITY] = capacity
}

function drainTime(policy: Policy, ticks: number): number {
  return Math.ceil(ticks / policy.leak)
}

function charge(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  from: Ticks,
): void {
  settle(policy, cells, at, now, from)
  add(policy, cells, at, cost)
}

function refund(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  from: Ticks,
  chargedAt: number | undefined,
): void {
  settle(policy, cells, at, now, from)
  const units = chargedAt === undefined ? cost : undrained(policy, cost, time - chargedAt)
  write(cells, at, Math.max(wholeDebt - units * policy.token, 0), time, wholeCapacity)
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

function used(policy: Policy, cells: Float64Array, at: number, now: number, from: Ticks): number {
  settle(policy, cells, at, now, from)
  return Math.ceil(debt / policy.token)
}

/** Without the bound of a policy's capacity, because another policy may have let the debt grow beyond it. */
function expiresAt(cells: Float64Array, at: number, leak: number): number {
  const ticks = cells[at + DEBT] as number
  return (cells[at + TIME] as number) + (ticks === 0 ? 0 : Math.ceil(ticks / leak))
}

/** The ticks of the state that was read last. Reused, so that a check allocates nothing. */
const ticksRead = { token: 0, leak: 0 }

function ticksIn(cells: Float64Array, at: number): Ticks {
  ticksRead.token = cells[at + TOKEN] as number
  ticksRead.leak = cells[at + LEAK] as number
  return ticksRead
}

function writeTicks(policy: Policy, cells: Float64Array, at: number): void {
  cells[at + TOKEN] = policy.token
  cells[at + LEAK] = policy.leak
}

function bucketNamed(name: AlgorithmName): Algorithm {
  return {
    name,
    cells: () => CELLS,
    decide(policy, cells, at, cost, now, verdict) {
      decide(policy, cells, at, cost, now, verdict, ticksIn(cells, at))
    },
    check(policy, cells, at, cost, now, verdict) {
      if (cells[at + TOKEN] === policy.token && cells[at + LEAK] === policy.leak) {
        check(policy, cells, at, cost, now, verdict)
      } else {
        checkSettled(policy, cells, at, cost, now, verdict, ticksIn(cells, at))
        if (cost > 0 && (verdict.allowed || verdict.stale)) writeTicks(policy, cells, at)
      }
    },
    charge(policy, cells, at, cost, now) {
      charge(policy, cells, at, cost, now, ticksIn(cells, at))
      writeTicks(policy, cells, at)
    },
    refund(policy, cells, at, cost, now, chargedAt) {
      refund(policy, cells, at, cost, now, ticksIn(cells, at), chargedAt)
      writeTicks(policy, cells, at)
    },
    used: (policy, cells, at, now) => used(policy, cells, at, now, ticksIn(cells, at)),
    expiresAt: (_policy, cells, at) => expiresAt(cells, at, cells[at + LEAK] as number),
  }
}

/** Tokens come back at limit/window, up to `burst`. The debt is what is missing from a full bucket. */
export const tokenBucket = /* @__PURE__ */ bucketNamed("token-bucket")

/** Water drains at limit/window and may not rise above the capacity. With `queue`, a request waits for the water before it. */
export const leakyBucket = /* @__PURE__ */ bucketNamed("leaky-bucket")

/** As in redis-cell: `max_burst` and `count per period`. Decides like a token bucket with a capacity of max_burst + 1. */
export const gcra = /* @__PURE__ */ bucketNamed("gcra")

/** A bucket without the cells of the ticks, for states that were all written at the rate of the policy they are read with. */
export const bucketOfOneRate: Algorithm = {
  name: "token-bucket",
  cells: () => CELLS_OF_ONE_RATE,
  decide(policy, cells, at, cost, now, verdict) {
    decide(policy, cells, at, cost, now, verdict, policy)
  },
  check,
  charge: (policy, cells, at, cost, now) => charge(policy, cells, at, cost, now, policy),
  refund: (policy, cells, at, cost, now, chargedAt) =>
    refund(policy, cells, at, cost, now, policy, chargedAt),
  used: (policy, cells, at, now) => used(policy, cells, at, now, policy),
  expiresAt: (policy, cells, at) => expiresAt(cells, at, policy.leak),
}

/** Whether an algorithm is a bucket that drains. */
export function isBucket(name: Algorithm["name"]): boolean {
  return name === "token-bucket" || name === "leaky-bucket" || name === "gcra"
}
