// Computes the published figures from the checks of one run.

import { heldUp, type Pause } from "./lag.js"
import type { Sample } from "./load.js"

/** The most admissions in any stretch of time as long as the window. Times in ms, any order. */
export function worstWindow(admittedAt: readonly number[], windowMs: number): number {
  const times = [...admittedAt].sort((a, b) => a - b)
  let worst = 0
  let first = 0
  for (let last = 0; last < times.length; last++) {
    while ((times[last] as number) - (times[first] as number) >= windowMs) first++
    worst = Math.max(worst, last - first + 1)
  }
  return worst
}

export interface Latency {
  /** As the caller saw it. */
  readonly seen: number
  /** Without the time in which our own event loop was blocked. */
  readonly own: number
}

export function latencyOf(sample: Sample, pauses: readonly Pause[]): Latency {
  const { startedAt, endedAt } = sample
  const seen = endedAt - startedAt
  return { seen, own: seen - heldUp(pauses, startedAt, endedAt) }
}

/** The smallest value that a share of all values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] as number
}

/** The number of consecutive checks over which the share of shared decisions is taken. */
const STRETCH = 100
const SHARED_SHARE = 0.99

/** How long after `moment` the first stretch of 100 checks begins of which 99 are shared; undefined if none does. */
export function backAfter(samples: readonly Sample[], moment: number): number | undefined {
  const after = samples
    .filter(({ startedAt }) => startedAt >= moment)
    .sort((a, b) => a.startedAt - b.startedAt)
  let shared = 0
  for (let last = 0; last < after.length; last++) {
    if (isShared(after[last])) shared++
    if (last >= STRETCH && isShared(after[last - STRETCH])) shared--
    if (last >= STRETCH - 1 && shared >= STRETCH * SHARED_SHARE)
      return (after[last - STRETCH + 1] as Sample).startedAt - moment
  }
  return undefined
}

function isShared(sample: Sample | undefined): boolean {
  return sample !== undefined && sample.degraded === undefined
}
