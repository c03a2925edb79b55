import { readFileSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"

/**
 * Runs something that waits, and tells for how long it kept others waiting at most, in milliseconds. On a busy machine the
 * event loop is late without any fault of ours, so the processor time that this thread took is an upper bound where the
 * system tells it.
 */
export async function longestStall<T>(run: () => Promise<T>): Promise<{ result: T; stallMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const before = threadTimeMs()
  const result = await run()
  const took = threadTimeMs() - before
  delay.disable()
  return { result, stallMs: Math.min(delay.max / 1e6, Number.isNaN(took) ? Number.POSITIVE_INFINITY : took) }
}

/** Processor time of this thread, on Linux. */
function threadTimeMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6
  } catch {
    return Number.NaN
  }
}
