// Fixed window: one count per window. Small and simple; up to twice the limit may pass around a boundary.
//
// State: [start of the window, its length when it was written, count]. The start instead of an index, so that a changed window
// length can be distinguished from a new window.

import type { Algorithm, Policy } from "./algorithm.js"
import { checkInTwoSteps, never } from "./algorithm.js"
import { floorTo } from "./exact.js"

const START = 0
const LENGTH = 1
const COUNT = 2

function startFor(policy: Policy, time: number): number {
  return policy.anchored ? time : floorTo(time, policy.window)
}

function isStale(policy: Policy, cells: Float64Array, at: number, now: number): boolean {
  const start = cells[at + START] as number
  const length = cells[at + LENGTH] as number
  if (cells[at + COUNT] === 0) return false
  return start - now > policy.window || (length !== policy.window && now < start + length)
}

/** The count of the window that `now` is in. */
function settledCount(_policy: Policy, cells: Float64Array, at: number, now: number): number {
  const ended = now >= (cells[at + START] as number) + (cells[at + LENGTH] as number)
  return ended ? 0 : (cells[at + COUNT] as number)
}

/** The start of the window that the `count` units belong to at `now`. */
function settledStart(policy: Policy, cells: Float64Array, at: number, now: number, count: number): number {
  const start = cells[at + START] as number
  if (count === 0) return startFor(policy, now)
  if (start - now > policy.window) return startFor(policy, now)
  if (cells[at + LENGTH] === policy.window) return start
  // The window has another length: the units move into a window of the new length.
  const t = Math.max(start, now)
  if (policy.anchored) return t - start < policy.window ? start : t
  return floorTo(t, policy.window)
}

export const fixedWindow: Algorithm = {
  name: "fixed-window",
  cells: () => 3,
  decide(policy, cells, at, cost, now, verdict) {
    const count = settledCount(policy, cells, at, now)
    const untilEnd = settledStart(policy, cells, at, now, count) + policy.window - now
    const room = policy.limit - count
    verdict.stale = isStale(policy, cells, at, now)
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
    const count = settledCount(policy, cells, at, now)
    cells[at + START] = settledStart(policy, cells, at, now, count)
    cells[at + LENGTH] = policy.window
    cells[at + COUNT] = Math.max(count + cost, 0)
  },
  /** A negative charge, which gives back at most the count. */
  refund(policy, cells, at, cost, now) {
    this.charge(policy, cells, at, -cost, now)
  },
  used: settledCount,
  expiresAt: (_policy, cells, at) =>
    cells[at + COUNT] === 0 ? 0 : (cells[at + START] as number) + (cells[at + LENGTH] as number),
}
