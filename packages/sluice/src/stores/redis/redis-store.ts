import { checkFields, checkType } from "../../options.js"
import type { BreakerState } from "../fallback/breaker.js"
import type { StoreFailureEvent } from "../fallback/store-guard.js"
import { StoreGuard } from "../fallback/store-guard.js"
import type { UserClient } from "./client.js"
import type { RawRedisStoreOptions } from "./raw-redis-store.js"
import { RAW_REDIS_FIELDS, RawRedisStore } from "./raw-redis-store.js"

export interface RedisStoreOptions extends RawRedisStoreOptions {
  /** Called for every call that Redis did not answer, with what the store did instead. */
  onFailure?: (event: StoreFailureEvent) => void
}

/**
 * Counters in Redis, shared by a fleet. The client is yours: ioredis or node-redis, single, Sentinel or Cluster; the store
 * does not close it. When Redis does not answer, each limiter's `onStoreFailure` decides.
 */
export function redisStore(client: UserClient, options: RedisStoreOptions = {}): RedisStore {
  return new RedisStore(client, options)
}

export class RedisStore extends StoreGuard {
  readonly #raw: RawRedisStore

  /** Calls `onClose` when the store is closed. */
  constructor(client: UserClient, options: RedisStoreOptions, onClose?: () => void) {
    checkFields(options, [...RAW_REDIS_FIELDS, "onFailure"], "redisStore")
    checkType(options.onFailure, "redisStore.onFailure", "a function", (value) => typeof value === "function")
    const raw = new RawRedisStore(client, options, onClose)
    super(raw, options.onFailure === undefined ? {} : { onFailure: options.onFailure })
    this.#raw = raw
  }

  /**
   * The state of each breaker: `closed` when calls reach the server, `open` when they do not, `half-open` when a few do to
   * test it. A server has one breaker, a Cluster one for every sixteenth of its slots.
   */
  get breakers(): BreakerState[] {
    return this.#raw.breakers
  }
}
