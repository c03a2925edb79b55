// Sliding window log: every charged unit with its time, exact to the microsecond. A unit charged at t counts while
// now - t < window.
//
// State: a ring of entries (time, running total of units up to and including it). Running totals make any question about
// the log two look-ups and a subtraction: nothing is pruned to decide, so a denial or a peek changes nothing, not even
// when the clock later steps back. Units charged in the same µs share an entry; a cost of n is one entry.
//
// Cells: [room for how many entries (a power of two), head, length, total before the head, window when it was written, then
// two cells per entry]. An entry that had left the window it was written for does not come back with a longer one.

import type { Algorithm, Policy, Verdict } from "./algorithm.js"
import { checkInTwoSteps, never } from "./algorithm.js"

const ROOM = 0
const HEAD = 1
const LENGTH = 2
const BEFORE = 3
const WINDOW = 4
const HEADER = 5

/** Running totals wrap here; differences stay exact because no window ever holds this many units. */
const WRAP = 2 ** 52

const SMALLEST_ROOM = 2

export function logCells(room: number): number {
  return HEADER + room * 2
}

/** Makes `cells` at `at` an empty log with room for `room` entries, or the log found at `from`. */
export function initLog(
  cells: Float64Array,
  at: number,
  room: number,
  from?: Float64Array,
  fromAt = 0,
): void {
  cells[at + ROOM] = room
  cells[at + HEAD] = 0
  const length = from === undefined ? 0 : (from[fromAt + LENGTH] as number)
  cells[at + LENGTH] = length
  cells[at + BEFORE] = from === undefined ? 0 : (from[fromAt + BEFORE] as number)
  cells[at + WINDOW] = from === undefined ? 0 : (from[fromAt + WINDOW] as number)
  if (from === undefined) return
  for (let i = 0; i < length; i++) {
    const entry = entryAt(from, fromAt, i)
    cells[at + HEADER + i * 2] = from[entry] as number
    cells[at + HEADER + i * 2 + 1] = from[entry + 1] as number
  }
}

/** Whether one more entry may need more room than there is. */
export function logIsFull(cells: Float64Array, at: number): boolean {
  return cells[at + LENGTH] === cells[at + ROOM]
}

function entryAt(cells: Float64Array, at: number, index: number): number {
  const room = cells[at + ROOM] as number
  return at + HEADER + (((cells[at + HEAD] as number) + index) & (room - 1)) * 2
}

function timeOf(cells: Float64Array, at: number, index: number): number {
  return cells[entryAt(cells, at, index)] as number
}

/** Units in entries from `first` up to and including `last`. */
function unitsBetween(cells: Float64Array, at: number, first: number, last: number): number {
  const before = first === 0 ? cells[at + BEFORE] : cells[entryAt(cells, at, first - 1) + 1]
  const units = (cells[entryAt(cells, at, last) + 1] as number) - (before as number)
  return units < 0 ? units + WRAP : units
}

/**
 * Index of the first entry still inside both windows, that of the policy and the one it was written for. Gallops from the
 * head, where it nearly always is.
 */
function firstLive(policy: Policy, cells: Float64Array, at: number, now: number): number {
  const length = cells[at + LENGTH] as number
  const oldest = now - Math.min(policy.window, cells[at + WINDOW] as number)
  if (length === 0 || timeOf(cells, at, 0) > oldest) return 0
  let low = 0
  let step = 1
  while (low + step < length && timeOf(cells, at, low + step) <= oldest) {
    low += step
    step *= 2
  }
  // Entry `low` has left the window; the answer is above it and at most `high`.
  let high = Math.min(low + step, length)
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (timeOf(cells, at, middle) <= oldest) low = middle
    else high = middle
  }
  return high
}

/** Index of the entry with which the first `excess` units from `first` on have all left. */
function entryThatFrees(cells: Float64Array, at: number, first: number, excess: number): number {
  let low = first
  let high = (cells[at + LENGTH] as number) - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (unitsBetween(cells, at, first, middle) >= excess) high = middle
    else low = middle + 1
  }
  return low
}

function drop(cells: Float64Array, at: number, count: number): void {
  if (count === 0) return
  cells[at + BEFORE] = cells[entryAt(cells, at, count - 1) + 1] as number
  cells[at + HEAD] = ((cells[at + HEAD] as number) + count) & ((cells[at + ROOM] as number) - 1)
  cells[at + LENGTH] = (cells[at + LENGTH] as number) - count
}

function decide(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const length = cells[at + LENGTH] as number
  const newest = length === 0 ? now : timeOf(cells, at, length - 1)
  const isAhead = newest - now > policy.window
  // A log from a clock that was wrong counts as a whole, and as if charged now.
  const first = length === 0 ? 0 : firstLive(policy, cells, at, isAhead ? newest : Math.max(newest, now))
  const used = first === length ? 0 : unitsBetween(cells, at, first, length - 1)
  const excess = cost - (policy.limit - used)
  let frees = now
  if (excess > 0 && cost <= policy.limit && !isAhead) {
    frees = timeOf(cells, at, entryThatFrees(cells, at, first, excess))
  }
  judgeLog(policy, used, isAhead ? now : newest, frees, cost, now, verdict)
  verdict.stale = length > 0 && (isAhead || cells[at + WINDOW] !== policy.window)
}

/** What a log means for a cost: its units in the window, its newest time, and the time of the entry that frees enough. */
export function judgeLog(
  policy: Policy,
  used: number,
  newest: number,
  frees: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const { limit, window } = policy
  const room = limit - used
  const reset = used === 0 ? 0 : newest + window - now
  if (cost > limit) {
    never(verdict, Math.max(room, 0), reset)
    return
  }
  const allowed = cost <= room
  verdict.allowed = allowed
  verdict.remaining = Math.max(allowed ? room - cost : room, 0)
  verdict.retryAfter = allowed ? 0 : frees + window - now
  verdict.resetAfter = allowed && cost > 0 ? Math.max(newest, now) + window - now : reset
  verdict.delay = 0
}

/** Brings a log to `now`: prunes it, or gathers one from a wrong clock into a single entry. Returns its time. */
export function settleLog(policy: Policy, cells: Float64Array, at: number, now: number): number {
  const length = cells[at + LENGTH] as number
  if (length === 0) {
    cells[at + WINDOW] = policy.window
    return now
  }
  const newest = timeOf(cells, at, length - 1)
  if (newest - now > policy.window) {
    const first = firstLive(policy, cells, at, newest)
    cells[at + WINDOW] = policy.window
    const before = first === 0 ? cells[at + BEFORE] : cells[entryAt(cells, at, first - 1) + 1]
    drop(cells, at, length - 1)
    cells[at + BEFORE] = before as number
    cells[entryAt(cells, at, 0)] = now
    return now
  }
  const t = Math.max(newest, now)
  drop(cells, at, firstLive(policy, cells, at, t))
  cells[at + WINDOW] = policy.window
  return t
}

function charge(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  const t = settleLog(policy, cells, at, now)
  if (cost === 0) return
  const length = cells[at + LENGTH] as number
  const last = length === 0 ? -1 : entryAt(cells, at, length - 1)
  let total = (last < 0 ? (cells[at + BEFORE] as number) : (cells[last + 1] as number)) + cost
  if (total >= WRAP) total -= WRAP
  if (last >= 0 && cells[last] === t) {
    cells[last + 1] = total
    return
  }
  const entry = entryAt(cells, at, length)
  cells[entry] = t
  cells[entry + 1] = total
  cells[at + LENGTH] = length + 1
}

/** Newest units first: a refund nearly always follows the request it undoes. */
function refund(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  settleLog(policy, cells, at, now)
  let left = cost
  for (let length = cells[at + LENGTH] as number; length > 0 && left > 0; length--) {
    const units = unitsBetween(cells, at, length - 1, length - 1)
    if (units > left) {
      const entry = entryAt(cells, at, length - 1)
      const total = (cells[entry + 1] as number) - left
      cells[entry + 1] = total < 0 ? total + WRAP : total
      return
    }
    cells[at + LENGTH] = length - 1
    left -= units
  }
}

function used(policy: Policy, cells: Float64Array, at: number, now: number): number {
  const length = cells[at + LENGTH] as number
  if (length === 0) return 0
  const newest = timeOf(cells, at, length - 1)
  const first = firstLive(policy, cells, at, Math.max(newest, now))
  return first === length ? 0 : unitsBetween(cells, at, first, length - 1)
}

export const slidingWindowLog: Algorithm = {
  name: "sliding-window-log",
  cells: () => logCells(SMALLEST_ROOM),
  decide,
  check: checkInTwoSteps,
  charge,
  refund,
  used,
  expiresAt: (_policy, cells, at) => {
    const length = cells[at + LENGTH] as number
    return length === 0 ? 0 : timeOf(cells, at, length - 1) + (cells[at + WINDOW] as number)
  },
}
