// Sliding window counter: the window is cut into B buckets, and the oldest of the B + 1 newest counts is weighted by the part of
// its bucket that is still inside the window. With B = 1 this is the well-known `previous × overlap + current`.
//
// State: [start of the newest bucket, bucket length when it was written, newest count, … , oldest count].

import type { Algorithm, Policy, Verdict } from "./algorithm.js"
import { checkInTwoSteps, never } from "./algorithm.js"
import { floorTo, mulDivCeil, mulDivFloor } from "./exact.js"

const START = 0
const SIZE = 1
const COUNTS = 2

function cellCount(policy: Policy): number {
  return COUNTS + policy.buckets + 1
}

/** Holds a settled copy of a state, so that deciding never changes the original. */
let scratch = new Float64Array(16)

function scratchFor(policy: Policy): Float64Array {
  const cells = cellCount(policy)
  if (scratch.length < cells) scratch = new Float64Array(cells * 2)
  return scratch
}

/** How many of `count` units of the oldest bucket count at `offset` µs into the newest one. */
export function weighted(count: number, size: number, offset: number): number {
  return count === 0 ? 0 : mulDivFloor(count, size - offset, size)
}

/**
 * The smallest offset at which `count` units weigh at most `room`: floor(count × (size - offset) ÷ size) ≤ room, solved for the
 * offset. The result is `size` or more if that does not happen within the bucket.
 */
function offsetForRoom(count: number, size: number, room: number): number {
  return count <= room ? 0 : size - mulDivCeil(room + 1, size, count) + 1
}

/** Whether a state was written by a clock more than a window ahead, or for another window. */
function isStale(policy: Policy, cells: Float64Array, at: number, now: number): boolean {
  const size = cells[at + SIZE] as number
  return (cells[at + START] as number) - now > policy.window || (size !== policy.bucketSize && size !== 0)
}

/** The time of a state whose newest bucket starts at `start`: `now`, or `start` if that is later by at most one window. */
function settledTime(policy: Policy, start: number, now: number): number {
  return start <= now || start - now > policy.window ? now : start
}

/** Whether all counts are zero. Such a state equals that of a new key, so its time does not count. */
function isUnused(cells: Float64Array, at: number, last: number): boolean {
  for (let i = 0; i <= last; i++) if (cells[at + COUNTS + i] !== 0) return false
  return true
}

/** Writes the state at `now` into `to` (which may be `from`): buckets moved on, counts of another window converted. */
function settle(
  policy: Policy,
  from: Float64Array,
  at: number,
  now: number,
  to: Float64Array,
  toAt: number,
): void {
  const size = policy.bucketSize
  const last = policy.buckets
  const start = from[at + START] as number
  const writtenSize = from[at + SIZE] as number
  const unused = start > now && isUnused(from, at, last)
  if (writtenSize !== size || start - now > policy.window || unused) {
    // A changed window or clock is no reset: all units that count go into the newest bucket.
    const t = unused ? now : settledTime(policy, start, now)
    const used = writtenSize === 0 ? 0 : usedWithSize(last, writtenSize, from, at, t)
    to[toAt + START] = floorTo(t, size)
    to[toAt + SIZE] = size
    to[toAt + COUNTS] = used
    for (let i = 1; i <= last; i++) to[toAt + COUNTS + i] = 0
    return
  }
  let steps = 0
  let newStart = start
  if (now >= start + size) {
    newStart = floorTo(now, size)
    steps = (newStart - start) / size
  }
  if (steps > last) steps = last + 1
  for (let i = last; i >= steps; i--) to[toAt + COUNTS + i] = from[at + COUNTS + i - steps] as number
  for (let i = 0; i < steps; i++) to[toAt + COUNTS + i] = 0
  to[toAt + START] = newStart
  to[toAt + SIZE] = size
}

/** Units that count at `t` in a state of `last + 1` buckets of `size`. */
function usedWithSize(last: number, size: number, cells: Float64Array, at: number, t: number): number {
  const elapsed = t - (cells[at + START] as number)
  const steps = elapsed < size ? 0 : Math.floor(elapsed / size)
  if (steps > last) return 0
  const offset = elapsed - steps * size
  let used = weighted(cells[at + COUNTS + last - steps] as number, size, Math.max(offset, 0))
  for (let i = 0; i < last - steps; i++) used += cells[at + COUNTS + i] as number
  return used
}

/**
 * The first whole µs, at or after the time `t` of a settled state, at which at most `room` units count if `extra` more are charged
 * now. Solves one bucket after the other, at most B + 1.
 */
function whenUsedAtMost(
  policy: Policy,
  cells: Float64Array,
  at: number,
  t: number,
  extra: number,
  room: number,
): number {
  const size = policy.bucketSize
  const last = policy.buckets
  let start = cells[at + START] as number
  let newer = extra
  for (let i = 0; i < last; i++) newer += cells[at + COUNTS + i] as number
  for (let i = last; i >= 0; i--) {
    const left = room - newer
    if (left >= 0) {
      const oldest = (cells[at + COUNTS + i] as number) + (i === 0 ? extra : 0)
      const offset = offsetForRoom(oldest, size, left)
      if (offset < size) return Math.max(start + offset, t)
    }
    if (i > 0) newer -= (cells[at + COUNTS + i - 1] as number) + (i === 1 ? extra : 0)
    start += size
  }
  return start
}

/** Decides on a settled state. `t` is the time of the state, `now` that of the caller. */
function judge(
  policy: Policy,
  cells: Float64Array,
  at: number,
  cost: number,
  t: number,
  now: number,
  verdict: Verdict,
): void {
  const used = usedWithSize(policy.buckets, policy.bucketSize, cells, at, t)
  const { limit } = policy
  const room = limit - used
  if (cost > limit) {
    const reset = used === 0 ? 0 : whenUsedAtMost(policy, cells, at, t, 0, 0) - now
    never(verdict, Math.max(room, 0), Math.max(used, 0), reset)
    return
  }
  const allowed = cost <= room
  const charged = allowed ? cost : 0
  verdict.allowed = allowed
  verdict.remaining = Math.max(room - charged, 0)
  verdict.used = Math.max(used + charged, 0)
  const asked = cost || 1
  verdict.retryAfter = asked <= room ? 0 : whenUsedAtMost(policy, cells, at, t, 0, limit - asked) - now
  verdict.resetAfter = used + charged === 0 ? 0 : whenUsedAtMost(policy, cells, at, t, charged, 0) - now
  verdict.delay = 0
}

/** Whether a state needs no settling: it was written for this window, and `now` is in its newest bucket. */
function isCurrent(policy: Policy, cells: Float64Array, at: number, now: number): boolean {
  const offset = now - (cells[at + START] as number)
  return cells[at + SIZE] === policy.bucketSize && offset >= 0 && offset < policy.bucketSize
}

export const slidingWindowCounter: Algorithm = {
  name: "sliding-window-counter",
  cells: cellCount,
  decide(policy, cells, at, cost, now, verdict) {
    if (isCurrent(policy, cells, at, now)) {
      verdict.stale = false
      judge(policy, cells, at, cost, now, now, verdict)
      return
    }
    verdict.stale = isStale(policy, cells, at, now)
    const settled = scratchFor(policy)
    settle(policy, cells, at, now, settled, 0)
    judge(policy, settled, 0, cost, settledTime(policy, settled[START] as number, now), now, verdict)
  },
  check: checkInTwoSteps,
  charge(policy, cells, at, cost, now) {
    if (!isCurrent(policy, cells, at, now)) settle(policy, cells, at, now, cells, at)
    cells[at + COUNTS] = (cells[at + COUNTS] as number) + cost
  },
  /** Takes the newest units first, because a refund usually follows soon after its request; or only those of one bucket. */
  refund(policy, cells, at, cost, now, chargedAt) {
    settle(policy, cells, at, now, cells, at)
    let left = cost
    let first = 0
    let last = policy.buckets
    if (chargedAt !== undefined) {
      first = ((cells[at + START] as number) - floorTo(chargedAt, policy.bucketSize)) / policy.bucketSize
      if (first < 0) return
      last = Math.min(last, first)
    }
    for (let i = first; i <= last && left > 0; i++) {
      const count = cells[at + COUNTS + i] as number
      const taken = Math.min(count, left)
      cells[at + COUNTS + i] = count - taken
      left -= taken
    }
  },
  used(policy, cells, at, now) {
    const settled = scratchFor(policy)
    settle(policy, cells, at, now, settled, 0)
    const t = settledTime(policy, settled[START] as number, now)
    return usedWithSize(policy.buckets, policy.bucketSize, settled, 0, t)
  },
  expiresAt: (policy, cells, at) =>
    (cells[at + START] as number) + (policy.buckets + 1) * (cells[at + SIZE] as number),
}
