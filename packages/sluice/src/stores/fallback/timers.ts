import { LONGEST_TIMEOUT_MS } from "../../clock.js"

/**
 * Time that never steps, in milliseconds, and a way to be called back. `ManualClock` is one. Those of the system call back after
 * 24 days at the latest: longer, and `setTimeout` would fire at once.
 */
export interface Timers {
  now(): number
  /** Calls back after `ms`, and returns a function that cancels. */
  schedule(ms: number, callback: () => void): () => void
}

function bounded(ms: number): number {
  return Math.min(ms, LONGEST_TIMEOUT_MS)
}

/** Milliseconds since 1970 as they were known when the process started, plus the time since: no step of the clock shows. */
export function monotonicNow(): number {
  return performance.timeOrigin + performance.now()
}

/**
 * For deadlines: somebody waits for the answer, so the process stays for it. It cannot stay longer than the deadline, and
 * the timer is gone as soon as the answer is there.
 */
export const answerTimers: Timers = {
  now: monotonicNow,
  schedule(ms, callback) {
    const timer = setTimeout(callback, bounded(ms))
    return () => clearTimeout(timer)
  },
}

/** For work in the background: the process may end while these wait. */
export const backgroundTimers: Timers = {
  now: monotonicNow,
  schedule(ms, callback) {
    const timer = setTimeout(callback, bounded(ms))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** A callback that is set again and again: one timer where there would be thousands. */
export interface Alarm {
  /** Calls back after `ms`. */
  set(ms: number): void
  /** Whether the process stays for it. */
  hold(isHeld: boolean): void
}

export function systemAlarm(callback: () => void): Alarm {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isHeldNow = false
  return {
    set(ms) {
      timer = setTimeout(callback, bounded(ms))
      if (!isHeldNow) timer.unref()
    },
    hold(isHeld) {
      isHeldNow = isHeld
      if (isHeld) timer?.ref()
      else timer?.unref()
    },
  }
}
