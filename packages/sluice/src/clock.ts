/** A source of time in milliseconds since 1970; fractions down to a microsecond count. */
export interface Clock {
  now(): number
  /** Calls back after `ms`, and returns a function that cancels. Without it, `setTimeout` is used. */
  schedule?(ms: number, callback: () => void): () => void
}

/** After this many reads in the same millisecond, checks count as a burst. */
const BURST = 16
/** In a burst, this many checks may share one reading of the clock. */
const SHARED = 64
/** The longest time that `setTimeout` accepts. With a longer one it fires at once. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1

const nativeNow = Date.now

let last = 0
let same = 0
let shared = 0
let armed = false

function release(): void {
  armed = false
  shared = 0
  same = 0
}

/**
 * The system's time in whole microseconds. Reading the clock takes about as long as a whole check (40 ns), so up to 64 checks of a
 * burst share one reading, within one turn of the event loop. A single check always reads the clock, and a replaced `Date` (fake
 * timers in tests) is read every time.
 */
export function systemMicros(): number {
  return --shared >= 0 && Date.now === nativeNow ? last : readMicros()
}

function readMicros(): number {
  const now = Date.now() * 1000
  if (Date.now !== nativeNow) return now
  if (now !== last) {
    last = now
    if (!armed) same = 0
  } else if (!armed && ++same >= BURST && typeof setImmediate === "function") {
    armed = true
    setImmediate(release)
  }
  shared = armed ? SHARED - 1 : 0
  return now
}

/** A clock with `schedule`: its own, or that of the system. */
export function schedulingClock(clock: Clock = systemClock): Required<Clock> {
  const schedule = clock.schedule ?? systemClock.schedule
  return { now: () => clock.now(), schedule: (ms, callback) => schedule.call(clock, ms, callback) }
}

/**
 * Resolves to true if `until` settles within `ms`, else to false. Rejects with the signal's reason if it aborts. Leaves no timer
 * and no listener behind.
 */
export function sleep(
  clock: Required<Clock>,
  ms: number,
  signal?: AbortSignal,
  until?: Promise<unknown>,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const end = (settle: () => void) => () => {
      cancel?.()
      signal?.removeEventListener("abort", onAbort)
      settle()
    }
    const onAbort = end(() => reject(signal?.reason))
    const onTime = end(() => resolve(false))
    const cancel = ms === Number.POSITIVE_INFINITY ? undefined : clock.schedule(ms, onTime)
    signal?.addEventListener("abort", onAbort)
    void until?.then(end(() => resolve(true)))
  })
}

/** The system's clock. Checks of a burst may share one reading; see docs/memory-store.md. */
export const systemClock: Required<Clock> = {
  now: () => systemMicros() / 1000,

  schedule(ms, callback) {
    // Rounded up, because a timer drops fractions and would fire too early.
    let left = Math.ceil(ms)
    let timer: ReturnType<typeof setTimeout>
    const next = () => {
      const step = Math.min(left, MAX_TIMEOUT_MS)
      left -= step
      timer = setTimeout(left > 0 ? next : callback, step)
    }
    next()
    return () => clearTimeout(timer)
  },
}
