// The sliding window counter with one bucket, on three cells instead of four: its two counts nearly always fit half a
// double each. A slot is then 32 bytes, half a cache line. While a key stays in one bucket, which is nearly always, the
// formulas need no loops either; everything else is left to algorithms/sliding-window-counter.ts, on the state widened.
// A property test holds the two together.
//
// State: [start of the newest bucket, bucket length when it was written, previous count × 2^26 + current count].

import type { Algorithm, Policy, Verdict } from "../../algorithms/algorithm.js"
import { mulDivCeil } from "../../algorithms/exact.js"
import { slidingWindowCounter, weighted } from "../../algorithms/sliding-window-counter.js"

const START = 0
const SIZE = 1
const COUNTS = 2

const HALF = 2 ** 26
const MOST = HALF - 1
/** The largest limit in this form. A clock that is set back adds both counts of a state up, each time by one limit at most. */
const LARGEST_LIMIT = 2 ** 22
/** The most that both counts may add up to after a charge without asking. */
const MOST_CHARGED = 2 ** 25

/** Whether the counts of this policy fit. */
export function isCompact(policy: Policy): boolean {
  const { algorithm, buckets, limit } = policy
  return algorithm.name === "sliding-window-counter" && buckets === 1 && limit <= LARGEST_LIMIT
}

/** Whether a state has room for a charge that nobody asked about: only those have no limit of their own. */
export function fitsCompactCounter(cells: Float64Array, at: number, cost: number): boolean {
  const counts = cells[at + COUNTS] as number
  const previous = (counts / HALF) | 0
  return previous + (counts - previous * HALF) + cost <= MOST_CHARGED
}

/** The state as the full algorithm takes it, while it does. */
const wide = new Float64Array(4)

/** The full state of a compact one, for `algorithms/sliding-window-counter.ts`. */
export function widen(cells: Float64Array, at: number, to: Float64Array, toAt: number): void {
  const counts = cells[at + COUNTS] as number
  const previous = (counts / HALF) | 0
  to[toAt] = cells[at + START] as number
  to[toAt + 1] = cells[at + SIZE] as number
  to[toAt + 2] = counts - previous * HALF
  to[toAt + 3] = previous
}

/** `wide` again in three cells. Only a clock that was set back eight times over goes beyond, and stays above every limit. */
function narrow(cells: Float64Array, at: number): void {
  cells[at + START] = wide[0] as number
  cells[at + SIZE] = wide[1] as number
  cells[at + COUNTS] = Math.min(wide[3] as number, MOST) * HALF + Math.min(wide[2] as number, MOST)
}

function widened(cells: Float64Array, at: number): Float64Array {
  widen(cells, at, wide, 0)
  return wide
}

/**
 * In one piece, with what is rare apart: the engine inlines only so many bytes of code, whether they run or not, and what it
 * leaves out it hands every number boxed. How long things count is `offsetForRoom`, where it is known that room is missing.
 */
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
  const fits = policy.limit - cost
  if (cells[at + SIZE] !== size || offset < 0 || offset >= size || fits < 0 || cost === 0) {
    checkWidened(policy, cells, at, cost, now, verdict)
    return
  }
  const counts = cells[at + COUNTS] as number
  const previous = (counts / HALF) | 0
  // Stays a double: it is divided by, and turning it into 32 bits and back makes that wait.
  const current = counts - previous * HALF
  const room = policy.limit - current - (previous && weighted(previous, size, offset))
  // One µs after the newest bucket has left the window.
  const gone = 2 * size - offset + 1
  verdict.stale = false
  verdict.delay = 0
  if (cost <= room) {
    cells[at + COUNTS] = counts + cost
    verdict.allowed = true
    verdict.remaining = (room - cost) | 0
    verdict.retryAfter = 0
    verdict.resetAfter = gone - Math.ceil(size / (current + cost))
    return
  }
  verdict.allowed = false
  verdict.remaining = room > 0 ? room | 0 : 0
  // The newest bucket alone is too much: it has to shrink as the previous one.
  if (current > fits) {
    verdict.retryAfter = gone - mulDivCeil(fits + 1, size, current)
    verdict.resetAfter = gone - Math.ceil(size / current)
  } else denyForPrevious(size, fits - current + 1, previous, current, offset, verdict)
}

/** The waits of a denial when the newest bucket alone would leave room. */
function denyForPrevious(
  size: number,
  missing: number,
  previous: number,
  current: number,
  offset: number,
  verdict: Verdict,
): void {
  const gone = size - offset + 1
  verdict.retryAfter = gone - mulDivCeil(missing, size, previous)
  verdict.resetAfter = gone + (current > 0 ? size : 0) - Math.ceil(size / (current || previous))
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
