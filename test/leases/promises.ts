// What each algorithm promises about the times at which units were admitted, whoever admitted them.

import type { Policy } from "../../packages/sluice/src/algorithms/algorithm.js"

/** Units admitted at a time, in µs. */
export interface Admission {
  readonly at: number
  readonly units: number
}

/** How many units more than the promise allows were admitted at worst; 0 if it was kept. `sorted` is by time. */
export function excess(policy: Policy, sorted: readonly Admission[], windows: readonly number[]): number {
  switch (policy.algorithm.name) {
    case "sliding-window-log":
      return excessInWindow(sorted, policy.limit, policy.promisedWindow)
    case "sliding-window-counter":
      return excessOfEstimate(sorted, policy)
    case "fixed-window":
      return excessInFixedWindows(sorted, policy, windows)
    default:
      return excessOverRate(sorted, policy)
  }
}

/** At most burst + rate × d in any interval of length d. */
function excessOverRate(
  sorted: readonly Admission[],
  { limit, promisedWindow, promisedCapacity }: Policy,
): number {
  // level = units admitted so far - rate × time; the most that it ever rises above an earlier level is what was admitted at once.
  let total = 0
  let lowest = Number.POSITIVE_INFINITY
  let worst = 0
  const first = sorted[0]?.at ?? 0
  for (const { at, units } of sorted) {
    const drained = (limit * (at - first)) / promisedWindow
    lowest = Math.min(lowest, total - drained)
    total += units
    worst = Math.max(worst, total - drained - lowest - promisedCapacity)
  }
  // Below a millionth of a unit it is the arithmetic of this function.
  return worst > 1e-6 ? worst : 0
}

/** At most `limit` in any window. */
function excessInWindow(sorted: readonly Admission[], limit: number, window: number): number {
  let first = 0
  let inside = 0
  let worst = 0
  for (const { at, units } of sorted) {
    inside += units
    while (at - (sorted[first] as Admission).at >= window) inside -= (sorted[first++] as Admission).units
    worst = Math.max(worst, inside - limit)
  }
  return worst
}

/** At most `limit` in each window. `windows` are the starts of windows that begin with a request. */
function excessInFixedWindows(
  sorted: readonly Admission[],
  policy: Policy,
  windows: readonly number[],
): number {
  const { window, anchored, limit } = policy
  const counts = new Map<number, number>()
  let worst = 0
  for (const { at, units } of sorted) {
    const start = anchored ? windows.findLast((begin) => begin <= at) : Math.floor(at / window) * window
    if (start === undefined || at - start >= window) return Number.POSITIVE_INFINITY
    const count = (counts.get(start) ?? 0) + units
    counts.set(start, count)
    worst = Math.max(worst, count - limit)
  }
  return worst
}

/** The estimate of the algorithm never exceeds the limit. */
function excessOfEstimate(sorted: readonly Admission[], { limit, bucketSize, buckets }: Policy): number {
  const counts = new Map<number, number>()
  let worst = 0
  for (const { at, units } of sorted) {
    const bucket = Math.floor(at / bucketSize)
    counts.set(bucket, (counts.get(bucket) ?? 0) + units)
    const offset = at - bucket * bucketSize
    let used = Math.floor(((counts.get(bucket - buckets) ?? 0) * (bucketSize - offset)) / bucketSize)
    for (let i = 0; i < buckets; i++) used += counts.get(bucket - i) ?? 0
    worst = Math.max(worst, used - limit)
  }
  return worst
}
