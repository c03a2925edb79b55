// The sliding window counter with one bucket, in three cells instead of four: each of its two counts fits half a double. A slot
// then takes 32 bytes, half a cache line. While a key stays in one bucket, which is the usual case, the formulas need no loops.
// Everything else converts the state and leaves it to algorithms/sliding-window-counter.ts. A property test holds both to the
// same answers.
//
// State: [start of the newest bucket, bucket length when it was written, previous count × 2^26 + current count].

import type { Algorithm, Policy, Verdict } from "../../algorithms/algorithm.js"
import { mulDivCeil } from "../../algorithms/exact.js"
import { slidingWindowCounter, weighted } from "../../algorithms/sliding-window-counter.js"

const START = 0
const SIZE = 1
const COUNTS = 2

const HALF = 2 ** 26
const MAX_COUNT = HALF - 1
/** The largest limit in this form. Each time a clock is set back, both counts are added up and grow by one limit at most. */
const MAX_LIMIT = 2 ** 22
/** The largest sum of both counts after a charge without a decision. */
const MAX_CHARGED = 2 ** 25

/** Whether the counts of this policy fit. */
export function isCompact(policy: Policy): boolean {
  const { algorithm, buckets, limit } = policy
  return algorithm.name === "sliding-window-counter" && buckets === 1 && limit <= MAX_LIMIT
}

/** Whether a charge without a decision fits. Only such charges may exceed the limit. */
export function fitsCompactCounter(cells: Float64Array, at: number, cost: number): boolean {
  const counts = cells[at + COUNTS] as number
  const previous = (counts / HALF) | 0
  return previous + (counts - previous * HALF) + cost <= MAX_CHARGED
}

/** Holds a state in the form of the full algorithm. */
const wide = new Float64Array(4)

/** Converts a compact state to the form of the full algorithm. */
export function widen(cells: Float64Array, at: number, to: Float64Array, toAt: number): void {
  const counts = cells[at + COUNTS] as number
  const previous = (counts / HALF) | 0
  to[toAt] = cells[at + START] as number
  to[toAt + 1] = cells[at + SIZE] as number
  to[toAt + 2] = counts - previous * HALF
  to[toAt + 3] = previous
}

/** Converts `wide` to three cells. Only a clock that is set back eight times clips a count, which then still exceeds any limit. */
function narrow(cells: Float64Array, at: number): void {
  cells[at + START] = wide[0] as number
  cells[at + SIZE] = wide[1] as number
  cells[at + COUNTS] = Math.min(wide[3] as number, MAX_COUNT) * HALF + Math.min(wide[2] as number, MAX_COUNT)
}

function widened(cells: Float64Array, at: number): Float64Array {
  widen(cells, at, wide, 0)
  return wide
}

/** The waits of a denial for which the previous bucket has to lose weight. */
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

export const compactCounter: Algorithm = {
  name: "sliding-window-counter",
  cells: () => 3,
  /** The waits are those of `offsetForRoom` in sliding-window-counter.ts, for the case that room is missing. */
  check(policy, cells, at, cost, now, verdict) {
    const size = policy.bucketSize
    const offset = now - (cells[at + START] as number)
    const fits = policy.limit - cost
    if (cells[at + SIZE] !== size || offset < 0 || offset >= size || fits < 0 || cost === 0) {
      slidingWindowCounter.check(policy, widened(cells, at), 0, cost, now, verdict)
      narrow(cells, at)
      return
    }
    const counts = cells[at + COUNTS] as number
    const previous = (counts / HALF) | 0
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
      verdict.used = (policy.limit - room + cost) | 0
      verdict.retryAfter = 0
      verdict.resetAfter = gone - Math.ceil(size / (current + cost))
      return
    }
    verdict.allowed = false
    verdict.remaining = room > 0 ? room | 0 : 0
    verdict.used = (policy.limit - room) | 0
    // The newest bucket alone exceeds the limit: the wait lasts until it is the previous one and has lost weight.
    if (current > fits) {
      verdict.retryAfter = gone - mulDivCeil(fits + 1, size, current)
      verdict.resetAfter = gone - Math.ceil(size / current)
    } else denyForPrevious(size, fits - current + 1, previous, current, offset, verdict)
  },
  decide(policy, cells, at, cost, now, verdict) {
    slidingWindowCounter.decide(policy, widened(cells, at), 0, cost, now, verdict)
  },
  charge(policy, cells, at, cost, now) {
    slidingWindowCounter.charge(policy, widened(cells, at), 0, cost, now)
    narrow(cells, at)
  },
  refund(policy, cells, at, cost, now, chargedAt) {
    slidingWindowCounter.refund(policy, widened(cells, at), 0, cost, now, chargedAt)
    narrow(cells, at)
  },
  used: (policy, cells, at, now) => slidingWindowCounter.used(policy, widened(cells, at), 0, now),
  expiresAt: (policy, cells, at) => slidingWindowCounter.expiresAt(policy, widened(cells, at), 0),
}
