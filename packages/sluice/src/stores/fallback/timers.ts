import { MAX_TIMEOUT_MS } from "../../clock.js"

/**
 * A clock that never steps, in milliseconds, and callbacks by it. `ManualClock` is one. The timers of the system call back after
 * 24 days at the latest, because `setTimeout` fires at once when the time is longer.
 */
export interface Timers {
  now(): number
  /** Calls back after `ms`, and returns a function that cancels. */
  schedule(ms: number, callback: () => void): () => void
}

function bounded(ms: number): number {
  return Math.min(ms, MAX_TIMEOUT_MS)
}

/** Milliseconds since 1970 as known when the process started, plus the time since then. It follows no step of the clock. */
export function monotonicNow(): number {
  return performance.timeOrigin + performance.now()
}

/** For deadlines: the process stays alive while a timer waits, because a caller waits for the answer. */
export const answerTimers: Timers = {
  now: monotonicNow,
  schedule(ms, callback) {
    const timer = setTimeout(callback, bounded(ms))
    return () => clearTimeout(timer)
  },
}

/** For work in the background: the process may end while a timer waits. */
export const backgroundTimers: Timers = {
  now: monotonicNow,
  schedule(ms, callback) {
    const timer = setTimeout(callback, bounded(ms))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
