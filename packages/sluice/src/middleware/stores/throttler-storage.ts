import type { AlgorithmName } from "../../algorithms/algorithm.js"
import { createLimiter } from "../../limiter/limiter.js"
import { checkOneOf } from "../../options.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { type CounterOptions, checkCounterOptions, LimitersByWindow } from "./window-counter.js"

export interface ThrottlerStorageOptions extends CounterOptions {
  /** Default: `"sliding-window-log"`, like the throttler's own storage. */
  algorithm?: Exclude<AlgorithmName, "leaky-bucket">
}

const ALGORITHMS = ["fixed-window", "sliding-window-log", "sliding-window-counter", "token-bucket", "gcra"]

/** The `ThrottlerStorage` of @nestjs/throttler. It takes times in milliseconds and returns times in seconds. */
export interface SluiceThrottlerStorage {
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<{ totalHits: number; timeToExpire: number; isBlocked: boolean; timeToBlockExpire: number }>
}

/** A storage for @nestjs/throttler: `ThrottlerModule.forRoot({ throttlers, storage: throttlerStorage({ store }) })`. */
export function throttlerStorage(options: ThrottlerStorageOptions = {}): SluiceThrottlerStorage {
  checkCounterOptions(options, "throttlerStorage", ["algorithm"])
  checkOneOf(options.algorithm, ALGORITHMS, "throttlerStorage.algorithm")
  const { store = memoryStore(), prefix = "sluice-nest", onStoreFailure = "local" } = options
  const algorithm = options.algorithm ?? "sliding-window-log"
  const limiters = new LimitersByWindow((window) =>
    createLimiter({ limit: 1, window: `${window}ms`, algorithm, store, prefix, onStoreFailure }),
  )

  return {
    async increment(key, ttl, limit, blockDuration, throttlerName) {
      const expiry = seconds(ttl)
      if (limit < 1) {
        const timeToBlockExpire = seconds(blockDuration > 0 ? blockDuration : ttl)
        return { totalHits: 1, timeToExpire: expiry, isBlocked: true, timeToBlockExpire }
      }
      const limiter = limiters.of(ttl)
      const counted = `${throttlerName}:${key}`
      const decision = await limiter.check(counted, { limit })
      const timeToExpire = seconds(decision.resetAfterMs)
      if (decision.allowed) {
        const totalHits = limit - decision.remaining
        return { totalHits, timeToExpire, isBlocked: false, timeToBlockExpire: 0 }
      }
      let retryAfterMs = Math.min(decision.retryAfterMs, Number.MAX_SAFE_INTEGER)
      if (blockDuration > 0 && decision.deniedBy !== "block" && decision.degraded !== "deny") {
        await limiter.block(counted, blockDuration)
        // When the block ends, the count starts at zero, as in the throttler's own storage.
        await limiter.reset(counted)
        retryAfterMs = blockDuration
      }
      return { totalHits: limit + 1, timeToExpire, isBlocked: true, timeToBlockExpire: seconds(retryAfterMs) }
    },
  }
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}
