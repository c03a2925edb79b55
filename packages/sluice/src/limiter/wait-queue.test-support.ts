// A limiter whose waits are seen from outside. Time is a clock that is moved by hand; `settle` lets what it set off happen.

import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import type { LimiterOptions } from "./limiter-options.js"

export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

// The first wait of a limiter loads this; loaded before, it takes no time that a test could notice.
await import("./wait-queue.js")

export function setUp(options: Partial<LimiterOptions> = {}) {
  const clock = new ManualClock()
  const limiter = createLimiter({
    clock,
    algorithm: "token-bucket",
    limit: 10,
    window: "1s",
    burst: 1,
    ...options,
  } as LimiterOptions)
  /** Who came through, in order, with the time it took. */
  const passed: [name: string, ms: number][] = []
  const start = clock.now()
  const wait = (name: string, key = "key", waitOptions = {}) => {
    const promise = limiter.wait(key, waitOptions)
    promise.then(
      (decision) => passed.push([decision.allowed ? name : `${name} denied`, clock.now() - start]),
      () => passed.push([`${name} rejected`, clock.now() - start]),
    )
    return promise
  }
  const advance = async (ms: number) => {
    clock.advance(ms)
    await settle()
  }
  return { clock, limiter, passed, wait, advance }
}
