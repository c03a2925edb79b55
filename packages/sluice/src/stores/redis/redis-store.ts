import { checkFields, checkType } from "../../options.js"
import type { BreakerState } from "../fallback/breaker.js"
import type { StoreFailureEvent } from "../fallback/store-guard.js"
import { StoreGuard } from "../fallback/store-guard.js"
import type { UserClient } from "./client.js"
import type { Ownership, ScriptedStoreOptions } from "./raw-redis-store.js"
import { SCRIPTED_FIELDS, ScriptedStore } from "./raw-redis-store.js"

export interface RedisStoreOptions extends ScriptedStoreOptions {
  /** Told of every call that Redis did not answer, and of what was done instead. */
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
  readonly #scripted: ScriptedStore

  constructor(client: UserClient, options: RedisStoreOptions, ownership?: Ownership) {
    checkFields(options, [...SCRIPTED_FIELDS, "onFailure"], "redisStore")
    checkType(options.onFailure, "redisStore.onFailure", "a function", (value) => typeof value === "function")
    const scripted = new ScriptedStore(client, options, ownership)
    super(scripted, options.onFailure === undefined ? {} : { onFailure: options.onFailure })
    this.#scripted = scripted
  }

  /**
   * Whether calls reach the server (`closed`), are kept away from it (`open`), or a few are let through to try. One for a
   * server, one for every sixteenth of a Cluster's slots.
   */
  get breakers(): BreakerState[] {
    return this.#scripted.breakers
  }
}
