import { getOrAdd } from "../../get-or-add.js"
import type { Store } from "../../stores/store.js"
import { type CounterOptions, checkCounterOptions, WindowCounter } from "./window-counter.js"

export type ExpressRateLimitStoreOptions = CounterOptions

/** The `Store` of express-rate-limit, declared here so that the package need not be installed. */
export interface ExpressRateLimitStore {
  readonly localKeys: boolean
  /** Names the counters: express-rate-limit warns of a request that is counted twice under one name. */
  readonly prefix: string
  init(options: { readonly windowMs: number }): void
  increment(key: string): Promise<{ totalHits: number; resetTime: Date | undefined }>
  get(key: string): Promise<{ totalHits: number; resetTime: Date | undefined } | undefined>
  decrement(key: string): Promise<void>
  resetKey(key: string): Promise<void>
  /** Missing when a store is given: it may hold the counters of others. */
  resetAll?(): Promise<void>
  shutdown(): Promise<void>
}

/**
 * A store for express-rate-limit: `rateLimit({ store: expressRateLimitStore({ store }) })`.
 * Each limiter that shares a store needs its own `prefix`.
 */
export function expressRateLimitStore(options: ExpressRateLimitStoreOptions = {}): ExpressRateLimitStore {
  checkCounterOptions(options, "expressRateLimitStore")
  const prefix = options.prefix ?? "sluice-erl"
  const counter = new WindowCounter({ ...options, prefix })
  let windowMs = 60_000
  return {
    localKeys: counter.isLocal,
    get prefix() {
      return `${prefix}:${storeNumber(options.store)}:${windowMs}`
    },
    init(settings) {
      counter.checkWindow(settings.windowMs, "rateLimit.windowMs")
      windowMs = settings.windowMs
    },
    async increment(key) {
      const { count, resetAt } = await counter.increment(key, windowMs)
      return { totalHits: count, resetTime: new Date(resetAt) }
    },
    async get(key) {
      const { count, resetAt } = await counter.read(key, windowMs)
      return count === 0 ? undefined : { totalHits: count, resetTime: new Date(resetAt) }
    },
    decrement: (key) => counter.decrement(key, windowMs),
    resetKey: (key) => counter.reset(key, windowMs),
    shutdown: () => counter.close(),
    ...(counter.isLocal ? { resetAll: () => counter.resetAll() } : {}),
  }
}

const storeNumbers = new WeakMap<Store, number>()
let lastStoreNumber = 0

/** Tells stores apart by number: the same prefix names other counters in another store. */
function storeNumber(store: Store | undefined): number {
  return store === undefined ? 0 : getOrAdd(storeNumbers, store, () => ++lastStoreNumber)
}
