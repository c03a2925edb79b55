import { readFileSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"

/** The interval between two readings of this thread's processor time. */
const EVERY_MS = 2

/**
 * Runs an asynchronous function, and returns the longest time that it blocked the event loop, in milliseconds. On a busy
 * machine other processes also delay the event loop. So on Linux the result is at most the processor time that this thread
 * used between two turns of the event loop.
 */
export async function longestStall<T>(run: () => Promise<T>): Promise<{ result: T; stallMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const turns = new LongestTurn()
  const result = await run()
  const ownMs = turns.end()
  delay.disable()
  return { result, stallMs: Math.min(delay.max / 1e6, ownMs) }
}

/** Watches the event loop of a process that does nothing else. The function returns the longest stall since its last call. */
export function watchStalls(): () => number {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  let turns = new LongestTurn()
  return () => {
    const stallMs = Math.min(delay.max / 1e6, turns.end())
    delay.reset()
    turns = new LongestTurn()
    return stallMs
  }
}

/** Measures the most processor time that this thread uses between two turns of the event loop, read every `EVERY_MS`. */
class LongestTurn {
  #last = threadTimeMs()
  #longest = 0
  #timer = setInterval(() => this.#look(), EVERY_MS)

  end(): number {
    clearInterval(this.#timer)
    this.#look()
    return Number.isNaN(this.#last) ? Number.POSITIVE_INFINITY : this.#longest
  }

  #look(): void {
    const now = threadTimeMs()
    this.#longest = Math.max(this.#longest, now - this.#last)
    this.#last = now
  }
}

/** The processor time of this thread on Linux, and NaN on other systems. */
function threadTimeMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6
  } catch {
    return Number.NaN
  }
}
