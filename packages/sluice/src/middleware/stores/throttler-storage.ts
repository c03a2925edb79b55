import type { AlgorithmName } from "../../algorithms/algorithm.js"
import { createLimiter, type Limiter } from "../../limiter.js"
import { checkFields, checkOneOf } from "../../options.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { checkTallyOptions, TALLY_FIELDS, type TallyOptions } from "./tally.js"

export interface ThrottlerStorageOptions extends TallyOptions {
  /** Default: `"sliding-window-log"`, as the throttler's own storage counts. */
  algorithm?: Exclude<AlgorithmName, "leaky-bucket">
}

const ALGORITHMS = ["fixed-window", "sliding-window-log", "sliding-window-counter", "token-bucket", "gcra"]
/** Windows of different lengths kept at hand; applications have a handful. */
const MOST_WINDOWS = 1_024

/** The `ThrottlerStorage` of @nestjs/throttler, in its own words; times in are milliseconds, times out are seconds. */
export interface SluiceThrottlerStorage {
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<{ totalHits: number; timeToExpire: number; isBlocked: boolean; timeToBlockExpire: number }>
}

/** A storage for applications that stay with @nestjs/throttler: `ThrottlerModule.forRoot({ throttlers, storage: throttlerStorage({ store }) })`. */
export function throttlerStorage(options: ThrottlerStorageOptions = {}): SluiceThrottlerStorage {
  checkFields(options, [...TALLY_FIELDS, "algorithm"], "throttlerStorage")
  checkTallyOptions(options, "throttlerStorage")
  checkOneOf(options.algorithm, ALGORITHMS, "throttlerStorage.algorithm")
  const { store = memoryStore(), prefix = "sluice-nest", onStoreFailure = "local" } = options
  const algorithm = options.algorithm ?? "sliding-window-log"
  const limiters = new Map<number, Limiter>()

  function limiterFor(ttl: number): Limiter {
    let limiter = limiters.get(ttl)
    if (limiter === undefined) {
      limiter = createLimiter({ limit: 1, window: ttl, algorithm, store, prefix, onStoreFailure })
      if (limiters.size >= MOST_WINDOWS) limiters.clear()
      limiters.set(ttl, limiter)
    }
    return limiter
  }

  return {
    async increment(key, ttl, limit, blockDuration, throttlerName) {
      const expiry = seconds(ttl)
      if (limit < 1) {
        const timeToBlockExpire = seconds(blockDuration > 0 ? blockDuration : ttl)
        return { totalHits: 1, timeToExpire: expiry, isBlocked: true, timeToBlockExpire }
      }
      const limiter = limiterFor(ttl)
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
        // When the block ends the client starts anew, as with the throttler's own storage.
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
