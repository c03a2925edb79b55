// Concurrency limits how many units are held at a time. A hold ends when its holder releases it, and by itself after `window`,
// which users call `hold`: so a holder that crashed blocks nobody for longer.
//
// State: a ring of holds, each with its end, the two halves of its id, and its units. Ends never decrease from one hold to the
// next: a new hold ends no earlier than the last one, so that it does not lose time to a clock that is behind. A state that
// reaches more than two holds ahead was written by a wrong clock, or under a much longer hold: its holds then end within one
// `hold` from now. Deciding prunes nothing.
//
// Cells: [capacity in holds (a power of two), head, length, units of all holds, then four cells per hold].

import type { Algorithm, GrowingState, HoldOperations, Policy, Verdict } from "./algorithm.js"
import { checkInTwoSteps, never } from "./algorithm.js"

const ROOM = 0
const HEAD = 1
const LENGTH = 2
const UNITS = 3
const HEADER = 4

const END = 0
const HIGH = 1
const LOW = 2
const COUNT = 3
const PER_HOLD = 4

const MIN_ROOM = 2
/** A charge without a decision adds no more than this, so that sums stay exact. */
const MAX_UNITS = 2 ** 52

function placeOf(cells: Float64Array, at: number, index: number): number {
  const room = cells[at + ROOM] as number
  return at + HEADER + (((cells[at + HEAD] as number) + index) & (room - 1)) * PER_HOLD
}

function endOf(cells: Float64Array, at: number, index: number): number {
  return cells[placeOf(cells, at, index) + END] as number
}

function copyHold(from: Float64Array, fromAt: number, to: Float64Array, toAt: number): void {
  for (let i = 0; i < PER_HOLD; i++) to[toAt + i] = from[fromAt + i] as number
}

function lastEnd(cells: Float64Array, at: number): number {
  const length = cells[at + LENGTH] as number
  return length === 0 ? 0 : endOf(cells, at, length - 1)
}

/** Whether the state reaches so far ahead that its holds are cut to one `hold` from now. */
function isAhead(policy: Policy, last: number, now: number): boolean {
  return last - now > 2 * policy.window
}

function unitsAt(cells: Float64Array, at: number, now: number): number {
  const length = cells[at + LENGTH] as number
  let units = cells[at + UNITS] as number
  for (let i = 0; i < length && endOf(cells, at, i) <= now; i++) units -= unitsOf(cells, at, i)
  return units
}

function unitsOf(cells: Float64Array, at: number, index: number): number {
  return cells[placeOf(cells, at, index) + COUNT] as number
}

/** When so many holds have ended that at least `excess` units are free again. */
function freesAt(cells: Float64Array, at: number, excess: number, now: number): number {
  const length = cells[at + LENGTH] as number
  let freed = 0
  for (let i = 0; i < length; i++) {
    const end = endOf(cells, at, i)
    if (end > now) freed += unitsOf(cells, at, i)
    if (freed >= excess) return end
  }
  return now
}

/**
 * Decides from the numbers of a state: the units held, the last end, and the end with which enough units are free. The Redis
 * store uses it too.
 */
export function judgeHolds(
  policy: Policy,
  used: number,
  last: number,
  frees: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const { limit, window } = policy
  const room = limit - used
  const cut = isAhead(policy, last, now) ? now + window : Number.POSITIVE_INFINITY
  const reset = used === 0 ? 0 : Math.min(last, cut) - now
  if (cost > limit) {
    never(verdict, Math.max(room, 0), Math.max(used, 0), reset)
    return
  }
  const allowed = cost <= room
  verdict.allowed = allowed
  verdict.remaining = Math.max(allowed ? room - cost : room, 0)
  verdict.used = Math.max(allowed ? used + cost : used, 0)
  verdict.retryAfter = (cost || 1) <= room ? 0 : Math.min(frees, cut) - now
  verdict.resetAfter = allowed && cost > 0 ? Math.max(reset, window) : reset
  verdict.delay = 0
}

/** Removes holds that have ended, and cuts those of a state from far ahead. */
function settle(policy: Policy, cells: Float64Array, at: number, now: number): void {
  const length = cells[at + LENGTH] as number
  let ended = 0
  let units = cells[at + UNITS] as number
  for (; ended < length && endOf(cells, at, ended) <= now; ended++) units -= unitsOf(cells, at, ended)
  if (ended > 0) {
    cells[at + HEAD] = ((cells[at + HEAD] as number) + ended) & ((cells[at + ROOM] as number) - 1)
    cells[at + LENGTH] = length - ended
    cells[at + UNITS] = units
  }
  if (!isAhead(policy, lastEnd(cells, at), now)) return
  for (let i = 0; i < length - ended; i++) {
    const place = placeOf(cells, at, i)
    cells[place + END] = Math.min(cells[place + END] as number, now + policy.window)
  }
}

/** Adds a hold behind the others. There must be room for it. */
function append(
  policy: Policy,
  cells: Float64Array,
  at: number,
  units: number,
  now: number,
  high: number,
  low: number,
): void {
  const end = Math.max(now + policy.window, lastEnd(cells, at))
  const length = cells[at + LENGTH] as number
  const place = placeOf(cells, at, length)
  cells[place + END] = end
  cells[place + HIGH] = high
  cells[place + LOW] = low
  cells[place + COUNT] = units
  cells[at + LENGTH] = length + 1
  cells[at + UNITS] = (cells[at + UNITS] as number) + units
}

/** Removes a hold. Moves the holds before it or those behind it, whichever are fewer. */
function removeAt(cells: Float64Array, at: number, index: number): void {
  const length = cells[at + LENGTH] as number
  cells[at + UNITS] = (cells[at + UNITS] as number) - unitsOf(cells, at, index)
  cells[at + LENGTH] = length - 1
  if (index * 2 < length) {
    for (let i = index; i > 0; i--) copyHold(cells, placeOf(cells, at, i - 1), cells, placeOf(cells, at, i))
    cells[at + HEAD] = ((cells[at + HEAD] as number) + 1) & ((cells[at + ROOM] as number) - 1)
  } else {
    for (let i = index; i < length - 1; i++)
      copyHold(cells, placeOf(cells, at, i + 1), cells, placeOf(cells, at, i))
  }
}

/** The index of a hold that has not ended at `now`, or -1. Looks at the oldest first: they are usually released first. */
function indexOfHold(cells: Float64Array, at: number, high: number, low: number, now: number): number {
  const length = cells[at + LENGTH] as number
  for (let i = 0; i < length; i++) {
    const place = placeOf(cells, at, i)
    if (cells[place + LOW] !== low || cells[place + HIGH] !== high) continue
    return (cells[place + END] as number) > now ? i : -1
  }
  return -1
}

const growing: GrowingState = {
  cells: (room) => HEADER + room * PER_HOLD,
  init(cells, at, room, from, fromAt = 0) {
    const length = from === undefined ? 0 : (from[fromAt + LENGTH] as number)
    cells[at + ROOM] = room
    cells[at + HEAD] = 0
    cells[at + LENGTH] = length
    cells[at + UNITS] = from === undefined ? 0 : (from[fromAt + UNITS] as number)
    if (from === undefined) return
    for (let i = 0; i < length; i++) copyHold(from, placeOf(from, fromAt, i), cells, placeOf(cells, at, i))
  },
  isFull: (cells, at) => cells[at + LENGTH] === cells[at + ROOM],
  settle,
}

const holds: HoldOperations = {
  nameLast(cells, at, high, low) {
    const place = placeOf(cells, at, (cells[at + LENGTH] as number) - 1)
    if (cells[place + HIGH] !== 0 || cells[place + LOW] !== 0) return
    cells[place + HIGH] = high
    cells[place + LOW] = low
  },
  isHeld: (cells, at, high, low, now) => indexOfHold(cells, at, high, low, now) >= 0,
  release(cells, at, high, low, now) {
    const index = indexOfHold(cells, at, high, low, now)
    if (index < 0) return false
    removeAt(cells, at, index)
    return true
  },
  extend(policy, cells, at, high, low, now) {
    settle(policy, cells, at, now)
    const index = indexOfHold(cells, at, high, low, now)
    if (index < 0) return
    const units = unitsOf(cells, at, index)
    removeAt(cells, at, index)
    append(policy, cells, at, units, now, high, low)
  },
}

export const concurrency: Algorithm = {
  name: "concurrency",
  growing,
  holds,
  cells: () => growing.cells(MIN_ROOM),
  decide(policy, cells, at, cost, now, verdict) {
    const last = lastEnd(cells, at)
    const used = last <= now ? 0 : unitsAt(cells, at, now)
    const excess = (cost || 1) - (policy.limit - used)
    const frees = excess > 0 && cost <= policy.limit ? freesAt(cells, at, excess, now) : 0
    judgeHolds(policy, used, last, frees, cost, now, verdict)
    verdict.stale = isAhead(policy, last, now)
  },
  check: checkInTwoSteps,
  /** Adds a hold that nobody can release, until `nameLast` names it. */
  charge(policy, cells, at, cost, now) {
    settle(policy, cells, at, now)
    const units = Math.min(cost, MAX_UNITS - (cells[at + UNITS] as number))
    if (units > 0) append(policy, cells, at, units, now, 0, 0)
  },
  /** Without the id of a hold: takes the units that would be held the longest. */
  refund(policy, cells, at, cost, now) {
    settle(policy, cells, at, now)
    let left = cost
    for (let i = (cells[at + LENGTH] as number) - 1; i >= 0 && left > 0; i--) {
      const units = unitsOf(cells, at, i)
      if (units <= left) {
        removeAt(cells, at, i)
      } else {
        const place = placeOf(cells, at, i)
        cells[place + COUNT] = units - left
        cells[at + UNITS] = (cells[at + UNITS] as number) - left
      }
      left -= units
    }
  },
  used: (_policy, cells, at, now) => unitsAt(cells, at, now),
  expiresAt: (_policy, cells, at) => lastEnd(cells, at),
}

/** Compares by name, because a policy may come from another copy of this library in the same process. */
export function isConcurrency(policy: Policy): boolean {
  return policy.algorithm.name === "concurrency"
}
