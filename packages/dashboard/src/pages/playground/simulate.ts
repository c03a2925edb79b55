// Runs the library on a simulated clock, to compare what each algorithm decides for the same traffic.

import { createLimiter } from "sluice"
import { ManualClock } from "sluice/testing"
import { SLOTS, spanOf, type Terms } from "./traffic.js"
import { limitOptions, type Variant } from "./variants.js"

/** The decisions of one algorithm. Lists have one entry per slot. */
export interface Outcome {
  /** Allowed requests, in the slot in which they proceed: a queue delays them. */
  readonly passed: readonly number[]
  /** Denied requests, in the slot in which they arrive. */
  readonly denied: readonly number[]
  /** The highest number of allowed requests in any window that ends in the slot. */
  readonly inWindow: readonly number[]
  /** How many requests would still be allowed at the end of the slot. */
  readonly remaining: readonly number[]
  readonly asked: number
  readonly admitted: number
  /** The window with the most allowed requests. It can start at any time, not only where the algorithm's windows start. */
  readonly busiest: { readonly from: number; readonly total: number }
  readonly longestDelayMs: number
}

const KEY = "client"

export function simulate(variant: Variant, terms: Terms, arrivals: readonly number[]): Outcome {
  const { start, slotMs } = spanOf(terms)
  const clock = new ManualClock(start)
  const limiter = createLimiter({ ...limitOptions(variant, terms), clock })
  const passes: number[] = []
  const denied = slots()
  const remaining = slots()
  let longestDelayMs = 0
  let next = 0
  for (let slot = 0; slot < SLOTS; slot++) {
    const end = (slot + 1) * slotMs
    for (; next < arrivals.length && (arrivals[next] as number) < end; next++) {
      const at = arrivals[next] as number
      clock.set(start + at)
      const { allowed, delayMs } = limiter.checkSync(KEY)
      if (!allowed) denied[slot] = (denied[slot] as number) + 1
      else passes.push(at + delayMs)
      longestDelayMs = Math.max(longestDelayMs, delayMs)
    }
    clock.set(start + end)
    remaining[slot] = limiter.checkSync(KEY, { cost: 0 }).remaining
  }
  passes.sort((a, b) => a - b)
  const windowMs = terms.windowSeconds * 1000
  return {
    passed: countedBySlot(passes, slotMs),
    denied,
    inWindow: highestBySlot(passes, windowMs, slotMs),
    remaining,
    asked: arrivals.length,
    admitted: passes.length,
    busiest: busiestWindow(passes, windowMs),
    longestDelayMs,
  }
}

/** Whether two algorithms decided the same. */
export function decideAlike(a: Outcome, b: Outcome): boolean {
  return (["passed", "denied"] as const).every((field) => a[field].every((count, i) => count === b[field][i]))
}

/** The window with the most requests. A request counts while less than a window has passed since it. */
export function busiestWindow(passes: readonly number[], windowMs: number): Outcome["busiest"] {
  let first = 0
  let busiest = { from: 0, total: 0 }
  for (const [i, now] of passes.entries()) {
    while (isPast(passes[first] as number, now, windowMs)) first++
    const total = i - first + 1
    if (total > busiest.total) busiest = { from: passes[first] as number, total }
  }
  return busiest
}

/** Compares whole microseconds, because fractions of milliseconds are not exact. */
function isPast(time: number, now: number, windowMs: number): boolean {
  return Math.round((now - time) * 1000) >= windowMs * 1000
}

function countedBySlot(times: readonly number[], slotMs: number): number[] {
  const counts = slots()
  for (const time of times) {
    const slot = Math.floor(time / slotMs)
    // A queue can delay requests beyond the end of the time line.
    if (slot < SLOTS) counts[slot] = (counts[slot] as number) + 1
  }
  return counts
}

function highestBySlot(passes: readonly number[], windowMs: number, slotMs: number): number[] {
  let first = 0
  let next = 0
  return slots().map((_, slot) => {
    const drop = (now: number) => {
      while (first < next && isPast(passes[first] as number, now, windowMs)) first++
    }
    drop(slot * slotMs)
    let max = next - first
    for (; next < passes.length && (passes[next] as number) < (slot + 1) * slotMs; ) {
      next++
      drop(passes[next - 1] as number)
      max = Math.max(max, next - first)
    }
    return max
  })
}

function slots(): number[] {
  return new Array<number>(SLOTS).fill(0)
}
