// The sliding window counter with one bucket, on three cells instead of four: its two counts nearly always fit half a
// double each. A slot is then 32 bytes, half a cache line, and the formulas need no loops. It decides exactly as
// algorithms/sliding-window-counter.ts does with `buckets: 1`; a property test holds them together.
//
// State: [start of the newest bucket, bucket length when it was written, previous count × 2^26 + current count].

import type { Algorithm, Policy, Verdict } from "../../algorithms/algorithm.js"
import { never } from "../../algorithms/algorithm.js"
import { floorTo } from "../../algorithms/exact.js"
import { isForeign, offsetForRoom, settledTime, weighted } from "../../algorithms/sliding-window-counter.js"

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

/** Brings the state to `now` in the policy's terms. */
function settle(policy: Policy, cells: Float64Array, at: number, now: number): void {
  const size = policy.bucketSize
  const start = cells[at + START] as number
  const writtenSize = cells[at + SIZE] as number
  const counts = cells[at + COUNTS] as number
  if (writtenSize === size && now >= start && now - start < size) return
  let previous = Math.floor(counts * PER_HALF)
  let current = counts - previous * HALF
  let newStart = start
  if (writtenSize !== size) {
    const t = settledTime(policy, start, now)
    const elapsed = t > start ? t - start : 0
    if (elapsed < writtenSize) current += weighted(previous, writtenSize, elapsed)
    else current = elapsed < 2 * writtenSize ? weighted(current, writtenSize, elapsed - writtenSize) : 0
    previous = 0
    newStart = floorTo(t, size)
  } else if (now >= start + size) {
    newStart = floorTo(now, size)
    previous = newStart === start + size ? current : 0
    current = 0
  } else if (start - now > policy.window) {
    newStart = floorTo(now, size)
  }
  cells[at + START] = newStart
  cells[at + SIZE] = size
  cells[at + COUNTS] = previous * HALF + Math.min(current, MOST)
}

/** Judges a settled state. */
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
  const used = current + weighted(previous, size, now > start ? now - start : 0)
  const allowed = used + cost <= limit
  const room = limit - used
  const after = allowed ? current + cost : current
  // Told from the caller's time, which may lie before the state's.
  const ahead = start - now
  let reset = 0
  if (after > 0) {
    const offset = offsetForRoom(after, size, 0)
    reset = ahead + size + Math.min(offset, size)
  } else if (used > 0) {
    const offset = offsetForRoom(previous, size, 0)
    reset = ahead + Math.min(offset, size)
  }
  if (cost > limit) {
    never(verdict, Math.max(room, 0), reset)
    return
  }
  verdict.allowed = allowed
  verdict.remaining = allowed ? room - cost : Math.max(room, 0)
  verdict.retryAfter = allowed ? 0 : ahead + whenRoomFor(limit - cost, previous, current, size)
  verdict.resetAfter = reset
  verdict.delay = 0
}

/** How long after the start of the newest bucket at most `room` units count. */
function whenRoomFor(room: number, previous: number, current: number, size: number): number {
  if (current <= room) {
    const offset = offsetForRoom(previous, size, room - current)
    if (offset < size) return offset
  }
  const offset = offsetForRoom(current, size, room)
  return size + Math.min(offset, size)
}

const scratch = new Float64Array(3)

function decide(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  now: number,
  verdict: Verdict,
): void {
  verdict.foreign = isForeign(policy, cells, at, now)
  scratch[START] = cells[at + START] as number
  scratch[SIZE] = cells[at + SIZE] as number
  scratch[COUNTS] = cells[at + COUNTS] as number
  settle(policy, scratch, 0, now)
  judge(policy, scratch, 0, cost, now, verdict)
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
  decide(policy, cells, at, cost, now, verdict)
  if (cost > 0 && (verdict.allowed || verdict.foreign))
    charge(policy, cells, at, verdict.allowed ? cost : 0, now)
}

/** A charge beyond 2^26 is only possible without asking, and stays there: it is above every limit that is compact. */
function charge(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  settle(policy, cells, at, now)
  const counts = cells[at + COUNTS] as number
  const room = MOST - (counts - Math.floor(counts * PER_HALF) * HALF)
  cells[at + COUNTS] = counts + Math.min(cost, room)
}

function refund(policy: Policy, cells: Float64Array, at: number, cost: number, now: number): void {
  settle(policy, cells, at, now)
  const counts = cells[at + COUNTS] as number
  const previous = Math.floor(counts * PER_HALF)
  const current = counts - previous * HALF
  if (cost <= current) cells[at + COUNTS] = counts - cost
  else cells[at + COUNTS] = cost - current >= previous ? 0 : (previous - (cost - current)) * HALF
}

export const compactCounter: Algorithm = {
  name: "sliding-window-counter",
  cells: () => 3,
  decide,
  check,
  charge,
  refund,
  used(policy, cells, at, now) {
    scratch.set(cells.subarray(at, at + 3))
    settle(policy, scratch, 0, now)
    const counts = scratch[COUNTS] as number
    const previous = Math.floor(counts * PER_HALF)
    const start = scratch[START] as number
    return counts - previous * HALF + weighted(previous, policy.bucketSize, now > start ? now - start : 0)
  },
  expiresAt: (_policy, cells, at) => (cells[at + START] as number) + 2 * (cells[at + SIZE] as number),
}
