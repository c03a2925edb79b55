// Sliding window log: keeps every charged unit with its time, exact to the microsecond. A unit charged at t counts while
// now - t < window.
//
// State: a ring of entries, each with its time and the running total of units up to and including it. With running totals, the
// units between two entries are two lookups and a subtraction. Deciding prunes nothing, so a denial or a peek changes nothing,
// even if the clock is set back later. Units charged in the same µs share an entry; a cost of n is one entry.
//
// Cells: [capacity in entries (a power of two), head, length, total before the head, window when it was written, then two cells
// per entry]. An entry that has left the window it was written for does not count again under a longer window.

import type { Algorithm, GrowingState, Policy, Verdict } from "./algorithm.js"
import { checkInTwoSteps, never } from "./algorithm.js"

const ROOM = 0
const HEAD = 1
const LENGTH = 2
const BEFORE = 3
const WINDOW = 4
const HEADER = 5

/** Running totals wrap here. Differences stay exact, because no window holds this many units. */
const WRAP = 2 ** 52

const MIN_ROOM = 2

/**
 * A refund of units of one time rewrites the entries after it. It is given up beyond this many, because Redis serves nobody else
 * meanwhile. The units then count until they leave the window.
 */
const MAX_REWRITTEN = 100

function initLog(cells: Float64Array, at: number, room: number, from?: Float64Array, fromAt = 0): void {
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
 * The index of the first entry that is inside both windows: that of the policy and the one it was written for. Searches in
 * doubling steps from the head, because the entry is nearly always there.
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
  // Entry `low` has left the window; the first live entry is above it and at most `high`.
  let high = Math.min(low + step, length)
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (timeOf(cells, at, middle) <= oldest) low = middle
    else high = middle
  }
  return high
}

/** The index of the entry that holds the last of the `excess` oldest units, counted from entry `first`. */
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

/**
 * Decides on a log from its numbers: the units in the window, the time of the newest entry, and the time of the entry that frees
 * enough units for the cost (for one unit if the cost is 0). The Redis store uses it too.
 */
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
    never(verdict, Math.max(room, 0), Math.max(used, 0), reset)
    return
  }
  const allowed = cost <= room
  verdict.allowed = allowed
  verdict.remaining = Math.max(allowed ? room - cost : room, 0)
  verdict.used = Math.max(allowed ? used + cost : used, 0)
  verdict.retryAfter = (cost || 1) <= room ? 0 : frees + window - now
  verdict.resetAfter = allowed && cost > 0 ? Math.max(newest, now) + window - now : reset
  verdict.delay = 0
}

/** Settles a log: prunes it, or merges a log from a clock far ahead into a single entry. Returns its time. */
function settleLog(policy: Policy, cells: Float64Array, at: number, now: number): number {
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

/** Takes away units of the entry charged at `time`, if it is among the newest. */
function refundEntry(cells: Float64Array, at: number, cost: number, time: number): void {
  const length = cells[at + LENGTH] as number
  let index = length - 1
  const oldest = Math.max(length - MAX_REWRITTEN, 0)
  while (index >= oldest && timeOf(cells, at, index) > time) index--
  if (index < oldest || timeOf(cells, at, index) !== time) return
  const units = unitsBetween(cells, at, index, index)
  const taken = Math.min(units, cost)
  // The running totals from here on are smaller. An entry without units is removed: those after it move up.
  const removed = taken === units ? 1 : 0
  for (let i = index + removed; i < length; i++) {
    const from = entryAt(cells, at, i)
    const to = entryAt(cells, at, i - removed)
    const total = (cells[from + 1] as number) - taken
    cells[to] = cells[from] as number
    cells[to + 1] = total < 0 ? total + WRAP : total
  }
  cells[at + LENGTH] = length - removed
}

const growing: GrowingState = {
  cells: (room) => HEADER + room * 2,
  init: initLog,
  isFull: (cells, at) => cells[at + LENGTH] === cells[at + ROOM],
  settle: settleLog,
}

export const slidingWindowLog: Algorithm = {
  name: "sliding-window-log",
  growing,
  cells: () => growing.cells(MIN_ROOM),
  decide(policy, cells, at, cost, now, verdict) {
    const length = cells[at + LENGTH] as number
    const newest = length === 0 ? now : timeOf(cells, at, length - 1)
    const isAhead = newest - now > policy.window
    // A log from a clock far ahead counts completely, as if it had been charged now.
    const first = length === 0 ? 0 : firstLive(policy, cells, at, isAhead ? newest : Math.max(newest, now))
    const used = first === length ? 0 : unitsBetween(cells, at, first, length - 1)
    const excess = (cost || 1) - (policy.limit - used)
    let frees = now
    if (excess > 0 && cost <= policy.limit && !isAhead) {
      frees = timeOf(cells, at, entryThatFrees(cells, at, first, excess))
    }
    judgeLog(policy, used, isAhead ? now : newest, frees, cost, now, verdict)
    verdict.stale = length > 0 && (isAhead || cells[at + WINDOW] !== policy.window)
  },
  check: checkInTwoSteps,
  charge(policy, cells, at, cost, now) {
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
  },
  /** Takes the newest units first, because a refund usually follows soon after its request; or only those of one time. */
  refund(policy, cells, at, cost, now, chargedAt) {
    settleLog(policy, cells, at, now)
    if (chargedAt !== undefined) {
      refundEntry(cells, at, cost, chargedAt)
      return
    }
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
  },
  used(policy, cells, at, now) {
    const length = cells[at + LENGTH] as number
    if (length === 0) return 0
    const newest = timeOf(cells, at, length - 1)
    const first = firstLive(policy, cells, at, Math.max(newest, now))
    return first === length ? 0 : unitsBetween(cells, at, first, length - 1)
  },
  expiresAt: (_policy, cells, at) => {
    const length = cells[at + LENGTH] as number
    return length === 0 ? 0 : timeOf(cells, at, length - 1) + (cells[at + WINDOW] as number)
  },
}
