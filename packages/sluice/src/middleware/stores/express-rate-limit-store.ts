import { getOrAdd } from "../../get-or-add.js"
import type { Store } from "../../stores/store.js"
import { type CounterOptions, checkCounterOptions, WindowCounter } from "./window-counter.js"

export type ExpressRateLimitStoreOptions = CounterOptions

/** How many keys `get` knows whose hits were all taken back. */
const MAX_TAKEN_BACK = 10_000

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
  // A key without hits has no state. These were taken back here, and `get` knows them still.
  const takenBack = new Set<string>()
  let windowMs = 60_000
  const resetAll = async (): Promise<void> => {
    takenBack.clear()
    await counter.resetAll()
  }
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
      takenBack.delete(key)
      const { count, resetAt } = await counter.increment(key, windowMs)
      return { totalHits: count, resetTime: dateOf(resetAt) }
    },
    async get(key) {
      const { count, resetAt } = await counter.read(key, windowMs)
      if (count > 0) return { totalHits: count, resetTime: dateOf(resetAt) }
      return takenBack.has(key) ? { totalHits: 0, resetTime: undefined } : undefined
    },
    async decrement(key) {
      await counter.decrement(key, windowMs)
      if (takenBack.size === MAX_TAKEN_BACK) takenBack.clear()
      takenBack.add(key)
    },
    async resetKey(key) {
      takenBack.delete(key)
      await counter.reset(key, windowMs)
    },
    shutdown: () => counter.close(),
    ...(counter.isLocal ? { resetAll } : {}),
  }
}

const storeNumbers = new WeakMap<Store, number>()
let lastStoreNumber = 0

/** Tells stores apart by number: the same prefix names other counters in another store. */
function storeNumber(store: Store | undefined): number {
  return store === undefined ? 0 : getOrAdd(storeNumbers, store, () => ++lastStoreNumber)
}

/** Rounded up to a whole millisecond: a Date cuts fractions off, and then the window would not have ended at its time. */
function dateOf(ms: number): Date {
  return new Date(Math.ceil(ms))
}
