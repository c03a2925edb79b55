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

/** The state as the full algorithm takes it, while it does. */
const wide = new Float64Array(4)

/** The full state of a compact one, for `algorithms/sliding-window-counter.ts`. */
export function widen(cells: Float64Array, at: number, to: Float64Array, toAt: number): void {
  const counts = cells[at + COUNTS] as number
  const previous = (counts * PER_HALF) | 0
  to[toAt] = cells[at + START] as number
  to[toAt + 1] = cells[at + SIZE] as number
  to[toAt + 2] = counts - previous * HALF
  to[toAt + 3] = previous
}

/** `wide` again in three cells. Only a charge without asking goes beyond, and stays above every compact limit. */
function narrow(cells: Float64Array, at: number): void {
  cells[at + START] = wide[0] as number
  cells[at + SIZE] = wide[1] as number
  cells[at + COUNTS] = Math.min(wide[3] as number, MOST) * HALF + Math.min(wide[2] as number, MOST)
}

function widened(cells: Float64Array, at: number): Float64Array {
  widen(cells, at, wide, 0)
  return wide
}

/** How long after the start of the newest bucket a cost fits that does not now. */
function whenFits(
  { bucketSize: size, limit }: Policy,
  cost: number,
  previous: number,
  current: number,
): number {
  const room = limit - cost
  if (room < 0) return Number.POSITIVE_INFINITY
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
  const size = policy.bucketSize
  const offset = now - (cells[at + START] as number)
  if (cells[at + SIZE] !== size || offset < 0 || offset >= size) {
    checkWidened(policy, cells, at, cost, now, verdict)
    return
  }
  const counts = cells[at + COUNTS] as number
  const previous = (counts * PER_HALF) | 0
  let current = counts - previous * HALF
  const room = policy.limit - current - weighted(previous, size, offset)
  const allowed = cost <= room
  verdict.allowed = allowed
  verdict.foreign = false
  verdict.retryAfter = allowed ? 0 : whenFits(policy, cost, previous, current) - offset
  verdict.delay = 0
  let remaining = room
  if (allowed) {
    current += cost
    remaining -= cost
    cells[at + COUNTS] = counts + cost
  }
  verdict.remaining = remaining > 0 ? remaining : 0
  verdict.resetAfter = untilUnused(previous, current, size, offset)
}

function checkWidened(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  slidingWindowCounter.check(policy, widened(cells, at), 0, cost, now, verdict)
  narrow(cells, at)
}

/** How long until nothing counts: offsetForRoom with no room, in one division. The last unit weighs nothing from there on. */
function untilUnused(previous: number, current: number, size: number, offset: number): number {
  const start = current > 0 ? 2 * size : size
  return Math.max(start + 1 - Math.ceil(size / (current || previous)) - offset, 0)
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
    narrow(cells, at)
  },
  refund(policy, cells, at, cost, now) {
    slidingWindowCounter.refund(policy, widened(cells, at), 0, cost, now)
    narrow(cells, at)
  },
  used: (policy, cells, at, now) => slidingWindowCounter.used(policy, widened(cells, at), 0, now),
  expiresAt: (policy, cells, at) => slidingWindowCounter.expiresAt(policy, widened(cells, at), 0),
}
