import { readFileSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"

/** How often the processor time of this thread is read. */
const EVERY_MS = 2

/**
 * Runs something that waits, and tells for how long it kept others waiting at most, in milliseconds. On a busy machine the
 * event loop is late without any fault of ours. So where the system tells it, the processor time that this thread took from
 * one turn of the event loop to another is an upper bound.
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

/** The most processor time between two turns of the event loop that are a few milliseconds apart. */
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

/** Processor time of this thread, on Linux. */
function threadTimeMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6
  } catch {
    return Number.NaN
  }
}
