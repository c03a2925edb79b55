// The library itself, on a clock that is moved by hand: what each algorithm does with the same minute.

import { createLimiter } from "sluice"
import { ManualClock } from "sluice/testing"
import type { Contender } from "./contenders.js"
import { SLOT_MS, SLOTS, type Terms } from "./traffic.js"

/** What one algorithm made of the traffic. Per slot, unless it says otherwise. */
export interface Outcome {
  /** Requests that were let through, by when they left: a queue holds them. */
  readonly passed: readonly number[]
  /** By when they came. */
  readonly denied: readonly number[]
  /** The most that was let through within a window that ends in the slot. */
  readonly inWindow: readonly number[]
  /** What would still be allowed at the end of the slot. */
  readonly remaining: readonly number[]
  readonly asked: number
  readonly admitted: number
  /** The window with the most in it, wherever it starts: not only where the algorithm's own windows do. */
  readonly busiest: { readonly from: number; readonly total: number }
  readonly longestDelayMs: number
}

/** A whole number of every window: windows that are aligned to the clock start where the time line does. */
const START = Date.UTC(2026, 0, 1)
const KEY = "client"

export function simulate(
  contender: Contender,
  { limit, windowSeconds }: Terms,
  arrivals: readonly number[],
): Outcome {
  const clock = new ManualClock(START)
  const limiter = createLimiter({ ...contender.options, limit, window: `${windowSeconds}s`, clock })
  const passes: number[] = []
  const denied = slots()
  const remaining = slots()
  let longestDelayMs = 0
  let next = 0
  for (let slot = 0; slot < SLOTS; slot++) {
    const end = (slot + 1) * SLOT_MS
    for (; next < arrivals.length && (arrivals[next] as number) < end; next++) {
      const at = arrivals[next] as number
      clock.set(START + at)
      const { allowed, delayMs } = limiter.checkSync(KEY)
      if (!allowed) denied[slot] = (denied[slot] as number) + 1
      else passes.push(at + delayMs)
      longestDelayMs = Math.max(longestDelayMs, delayMs)
    }
    clock.set(START + end)
    remaining[slot] = limiter.checkSync(KEY, { cost: 0 }).remaining
  }
  passes.sort((a, b) => a - b)
  const windowMs = windowSeconds * 1000
  return {
    passed: countedBySlot(passes),
    denied,
    inWindow: highestBySlot(passes, windowMs),
    remaining,
    asked: arrivals.length,
    admitted: passes.length,
    busiest: busiestWindow(passes, windowMs),
    longestDelayMs,
  }
}

/** Whether two let the same requests through at the same times. */
export function decideAlike(a: Outcome, b: Outcome): boolean {
  return (["passed", "denied"] as const).every((field) => a[field].every((count, i) => count === b[field][i]))
}

/** A request counts while less than a window has passed since it. */
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

/** Compared in whole microseconds: fractions of milliseconds are not exact. */
function isPast(time: number, now: number, windowMs: number): boolean {
  return Math.round((now - time) * 1000) >= windowMs * 1000
}

function countedBySlot(times: readonly number[]): number[] {
  const counts = slots()
  for (const time of times) {
    const slot = Math.floor(time / SLOT_MS)
    // What a queue lets out after the end of the time line is not on it.
    if (slot < SLOTS) counts[slot] = (counts[slot] as number) + 1
  }
  return counts
}

function highestBySlot(passes: readonly number[], windowMs: number): number[] {
  let first = 0
  let next = 0
  return slots().map((_, slot) => {
    const drop = (now: number) => {
      while (first < next && isPast(passes[first] as number, now, windowMs)) first++
    }
    drop(slot * SLOT_MS)
    let most = next - first
    for (; next < passes.length && (passes[next] as number) < (slot + 1) * SLOT_MS; ) {
      next++
      drop(passes[next - 1] as number)
      most = Math.max(most, next - first)
    }
    return most
  })
}

function slots(): number[] {
  return new Array<number>(SLOTS).fill(0)
}
