import { checkFields } from "../../options.js"
import { checkTallyOptions, TALLY_FIELDS, TallyCounter, type TallyOptions } from "./tally.js"

export type ExpressRateLimitStoreOptions = TallyOptions

/** The `Store` of express-rate-limit, in its own words; a user of this file need not have it installed. */
export interface ExpressRateLimitStore {
  readonly localKeys: boolean
  readonly prefix: string
  init(options: { readonly windowMs: number }): void
  increment(key: string): Promise<{ totalHits: number; resetTime: Date | undefined }>
  get(key: string): Promise<{ totalHits: number; resetTime: Date | undefined } | undefined>
  decrement(key: string): Promise<void>
  resetKey(key: string): Promise<void>
  /** Only with counters of its own: a given store may hold those of others. */
  resetAll?(): Promise<void>
  shutdown(): Promise<void>
}

/**
 * A store for applications that stay with express-rate-limit: `rateLimit({ store: expressRateLimitStore({ store }) })`.
 * Limiters that share a store need a `prefix` each.
 */
export function expressRateLimitStore(options: ExpressRateLimitStoreOptions = {}): ExpressRateLimitStore {
  checkFields(options, TALLY_FIELDS, "expressRateLimitStore")
  checkTallyOptions(options, "expressRateLimitStore")
  const prefix = options.prefix ?? "sluice-erl"
  const counter = new TallyCounter({ ...options, prefix })
  let windowMs = 60_000
  return {
    localKeys: counter.isLocal,
    prefix,
    init(settings) {
      windowMs = settings.windowMs
    },
    async increment(key) {
      const { count, resetAt } = await counter.add(key, windowMs)
      return { totalHits: count, resetTime: new Date(resetAt) }
    },
    async get(key) {
      const { count, resetAt } = await counter.look(key, windowMs)
      return count === 0 ? undefined : { totalHits: count, resetTime: new Date(resetAt) }
    },
    decrement: (key) => counter.takeBack(key, windowMs),
    resetKey: (key) => counter.reset(key, windowMs),
    shutdown: () => counter.close(),
    ...(counter.isLocal ? { resetAll: () => counter.resetAll() } : {}),
  }
}
