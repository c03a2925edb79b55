// Fixed window: one count per window. Small and simple; up to twice the limit may pass around a boundary.
//
// State: [start of the window, its length when it was written, count]. The start instead of an index, so that a changed window
// length can be distinguished from a new window.
//
// The windows of a calendar differ in length, and the calendar says which one contains a time.

import type { Algorithm, Policy } from "./algorithm.js"
import { checkInTwoSteps, never } from "./algorithm.js"
import { floorTo } from "./exact.js"

const START = 0
const LENGTH = 1
const COUNT = 2

/** The state as it is at the time of the call. Calls overwrite it. */
const settled = /* @__PURE__ */ new Float64Array(3)

/** Writes the window that contains a time, with `count` units in it. */
function enter({ anchored, calendar, window }: Policy, time: number, count: number): void {
  let start = time
  let length = window
  if (calendar !== undefined) {
    calendar.find(time)
    start = calendar.start
    length = calendar.end - start
  } else if (!anchored) start = floorTo(time, window)
  write(start, length, count)
}

function write(start: number, length: number, count: number): void {
  settled[START] = start
  settled[LENGTH] = length
  settled[COUNT] = count
}

/** Writes the state at `now` to `settled`. Returns whether the state is stale. */
function settle(policy: Policy, cells: Float64Array, at: number, now: number): boolean {
  const { window } = policy
  const start = cells[at + START] as number
  const length = cells[at + LENGTH] as number
  const count = cells[at + COUNT] as number
  if (count === 0 || now >= start + length) {
    enter(policy, now, 0)
    return false
  }
  if (start - now > window) {
    enter(policy, now, count)
    return true
  }
  const time = Math.max(start, now)
  const keepsStart = length === window || (policy.anchored && time - start < window)
  if (keepsStart && policy.calendar === undefined) write(start, window, count)
  // The window has another length, or is not one of the calendar: the units move into a window of the policy.
  else enter(policy, time, count)
  return settled[START] !== start || settled[LENGTH] !== length
}

/** The count of the window that `now` is in. */
function settledCount(_policy: Policy, cells: Float64Array, at: number, now: number): number {
  const ended = now >= (cells[at + START] as number) + (cells[at + LENGTH] as number)
  return ended ? 0 : (cells[at + COUNT] as number)
}

export const fixedWindow: Algorithm = {
  name: "fixed-window",
  cells: () => 3,
  decide(policy, cells, at, cost, now, verdict) {
    verdict.stale = settle(policy, cells, at, now)
    const count = settled[COUNT] as number
    const untilEnd = (settled[START] as number) + (settled[LENGTH] as number) - now
    const room = policy.limit - count
    if (cost > policy.limit) {
      never(verdict, Math.max(room, 0), Math.max(count, 0), count === 0 ? 0 : untilEnd)
      return
    }
    const allowed = cost <= room
    verdict.allowed = allowed
    verdict.remaining = Math.max(allowed ? room - cost : room, 0)
    verdict.used = Math.max(allowed ? count + cost : count, 0)
    verdict.retryAfter = (cost || 1) <= room ? 0 : untilEnd
    verdict.resetAfter = count === 0 && (cost === 0 || !allowed) ? 0 : untilEnd
    verdict.delay = 0
  },
  check: checkInTwoSteps,
  charge(policy, cells, at, cost, now) {
    settle(policy, cells, at, now)
    cells[at + START] = settled[START] as number
    cells[at + LENGTH] = settled[LENGTH] as number
    cells[at + COUNT] = Math.max((settled[COUNT] as number) + cost, 0)
  },
  /** A negative charge, which gives back at most the count. Units of an earlier window are gone. */
  refund(policy, cells, at, cost, now, chargedAt) {
    settle(policy, cells, at, now)
    const isGone = chargedAt !== undefined && chargedAt < (settled[START] as number)
    this.charge(policy, cells, at, isGone ? 0 : -cost, now)
  },
  used: settledCount,
  expiresAt: (_policy, cells, at) =>
    cells[at + COUNT] === 0 ? 0 : (cells[at + START] as number) + (cells[at + LENGTH] as number),
}
