import { checkFields } from "../../options.js"
import { COUNTER_FIELDS, type CounterOptions, checkCounterOptions, WindowCounter } from "./window-counter.js"

export type ExpressRateLimitStoreOptions = CounterOptions

/** The `Store` of express-rate-limit, declared here so that the package need not be installed. */
export interface ExpressRateLimitStore {
  readonly localKeys: boolean
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
  checkFields(options, COUNTER_FIELDS, "expressRateLimitStore")
  checkCounterOptions(options, "expressRateLimitStore")
  const prefix = options.prefix ?? "sluice-erl"
  const counter = new WindowCounter({ ...options, prefix })
  let windowMs = 60_000
  return {
    localKeys: counter.isLocal,
    prefix,
    init(settings) {
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
