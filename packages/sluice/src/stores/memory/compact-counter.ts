// The sliding window counter with one bucket, on three cells instead of four: its two counts nearly always fit half a
// double each. A slot is then 32 bytes, half a cache line. While a key stays in one bucket, which is nearly always, the
// formulas need no loops either; everything else is left to algorithms/sliding-window-counter.ts, on the state widened.
// A property test holds the two together.
//
// State: [start of the newest bucket, bucket length when it was written, previous count × 2^26 + current count].

import type { Algorithm, Policy, Verdict } from "../../algorithms/algorithm.js"
import { offsetForRoom, slidingWindowCounter, weighted } from "../../algorithms/sliding-window-counter.js"

const START = 0
const SIZE = 1
const COUNTS = 2

const HALF = 2 ** 26
const PER_HALF = 2 ** -26
const MOST = HALF - 1

/** Whether the counts of this policy fit. */
export function isCompact(policy: Policy): boolean {
  return policy.algorithm.name === "sliding-window-counter" && policy.buckets === 1 && policy.limit <= MOST
}

/** The full state of a compact one, for `algorithms/sliding-window-counter.ts`. */
export function widen(cells: Float64Array, at: number, to: Float64Array, toAt: number): void {
  const counts = cells[at + COUNTS] as number
  const previous = Math.floor(counts * PER_HALF)
  to[toAt] = cells[at + START] as number
  to[toAt + 1] = cells[at + SIZE] as number
  to[toAt + 2] = counts - previous * HALF
  to[toAt + 3] = previous
}

/** The full state again in three cells. Only a charge without asking goes beyond, and stays above every compact limit. */
function narrow(wide: Float64Array, cells: Float64Array, at: number): void {
  cells[at + START] = wide[0] as number
  cells[at + SIZE] = wide[1] as number
  cells[at + COUNTS] = Math.min(wide[3] as number, MOST) * HALF + Math.min(wide[2] as number, MOST)
}

const wide = new Float64Array(4)

function widened(cells: Float64Array, at: number): Float64Array {
  widen(cells, at, wide, 0)
  return wide
}

/** Judges a state whose newest bucket `now` lies in. */
function judge(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const size = policy.bucketSize
  const limit = policy.limit
  const start = cells[at + START] as number
  const counts = cells[at + COUNTS] as number
  const previous = Math.floor(counts * PER_HALF)
  const current = counts - previous * HALF
  const ahead = start - now
  const room = limit - current - weighted(previous, size, -ahead)
  let after = current
  verdict.retryAfter = 0
  verdict.delay = 0
  if (cost <= room) {
    verdict.allowed = true
    verdict.remaining = room - cost
    after += cost
  } else {
    verdict.allowed = false
    verdict.remaining = room > 0 ? room : 0
    const never = cost > limit
    verdict.retryAfter = never
      ? Number.POSITIVE_INFINITY
      : ahead + whenAtMost(limit - cost, previous, current, size)
  }
  // offsetForRoom with no room, in one division: the last unit weighs nothing from there on.
  if (after > 0) verdict.resetAfter = ahead + 2 * size + 1 - Math.ceil(size / after)
  else verdict.resetAfter = room < limit ? ahead + size + 1 - Math.ceil(size / previous) : 0
}

/** How long after the start of the newest bucket at most `room` units count. */
function whenAtMost(room: number, previous: number, current: number, size: number): number {
  if (current <= room) {
    const offset = offsetForRoom(previous, size, room - current)
    if (offset < size) return offset
  }
  const offset = offsetForRoom(current, size, room)
  return size + Math.min(offset, size)
}

function check(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  const offset = now - (cells[at + START] as number)
  if (cells[at + SIZE] === policy.bucketSize && offset >= 0 && offset < policy.bucketSize) {
    verdict.foreign = false
    judge(policy, cells, at, cost, now, verdict)
    if (verdict.allowed) cells[at + COUNTS] = (cells[at + COUNTS] as number) + cost
    return
  }
  slidingWindowCounter.check(policy, widened(cells, at), 0, cost, now, verdict)
  narrow(wide, cells, at)
}

export const compactCounter: Algorithm = {
  name: "sliding-window-counter",
  cells: () => 3,
  check,
  decide(policy, cells, at, cost, now, verdict) {
    slidingWindowCounter.decide(policy, widened(cells, at), 0, cost, now, verdict)
  },
  charge(policy, cells, at, cost, now) {
    slidingWindowCounter.charge(policy, widened(cells, at), 0, cost, now)
    narrow(wide, cells, at)
  },
  refund(policy, cells, at, cost, now) {
    slidingWindowCounter.refund(policy, widened(cells, at), 0, cost, now)
    narrow(wide, cells, at)
  },
  used: (policy, cells, at, now) => slidingWindowCounter.used(policy, widened(cells, at), 0, now),
  expiresAt: (policy, cells, at) => slidingWindowCounter.expiresAt(policy, widened(cells, at), 0),
}
