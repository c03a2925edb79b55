// Counts the requests of a key in a window, whether they pass or not. The stores of other limiters are asked for this count;
// the limiter that asks decides, and nothing is denied here.

import type { Decision } from "../../decision.js"
import { getOrCache } from "../../get-or-add.js"
import { createLimiter, type Limiter } from "../../limiter.js"
import { checkOneOf, checkType, hasMethods, isFilledText } from "../../options.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import type { Degraded, Store } from "../../stores/store.js"

export interface CounterOptions {
  /** Where counters live. Default: its own memory store. */
  store?: Store
  /** Keeps the counters apart from others in the same store. */
  prefix?: string
  /** What to count when the store fails. Default: `"local"`, the count of this instance times the number of instances. */
  onStoreFailure?: Degraded
}

export const COUNTER_FIELDS = ["store", "prefix", "onStoreFailure"] as const

export interface WindowCount {
  readonly count: number
  /** Until the window ends; 0 when it has not begun. */
  readonly resetAfterMs: number
  readonly resetAt: number
}

export function checkCounterOptions(options: CounterOptions, place: string): void {
  checkType(options.store, `${place}.store`, "a store", hasMethods("check", "charge", "refund", "reset"))
  checkType(options.prefix, `${place}.prefix`, "a string that is not empty", isFilledText)
  checkOneOf(options.onStoreFailure, ["local", "allow", "deny"], `${place}.onStoreFailure`)
}

/** How many limiters are cached. Applications have a handful of windows. */
const MAX_WINDOWS = 1_024

/** Caches one limiter per length of window, because other limiters pass the length with each request. */
export class LimitersByWindow {
  readonly #create: (windowMs: number) => Limiter
  readonly #limiters = new Map<number, Limiter>()

  constructor(create: (windowMs: number) => Limiter) {
    this.#create = create
  }

  of(windowMs: number): Limiter {
    return getOrCache(this.#limiters, windowMs, MAX_WINDOWS, () => this.#create(windowMs))
  }

  clear(): void {
    this.#limiters.clear()
  }
}

/** Never reached, so that every request is charged. */
const UNREACHABLE_LIMIT = 2 ** 40

export class WindowCounter {
  readonly #ownsStore: boolean
  #store: Store
  readonly #limiters: LimitersByWindow

  constructor({ store, prefix = "sluice", onStoreFailure = "local" }: CounterOptions) {
    this.#ownsStore = store === undefined
    this.#store = store ?? memoryStore()
    this.#limiters = new LimitersByWindow((window) =>
      createLimiter({
        limit: UNREACHABLE_LIMIT,
        window,
        algorithm: "fixed-window",
        anchor: "first-request",
        store: this.#store,
        prefix,
        onStoreFailure,
      }),
    )
  }

  /** Whether the counters are in a memory store that nobody else uses. */
  get isLocal(): boolean {
    return this.#ownsStore
  }

  async increment(key: string, windowMs: number): Promise<WindowCount> {
    return this.#countOf(await this.#limiters.of(windowMs).check(key))
  }

  async read(key: string, windowMs: number): Promise<WindowCount> {
    return this.#countOf(await this.#limiters.of(windowMs).peek(key))
  }

  async decrement(key: string, windowMs: number): Promise<void> {
    await this.#limiters.of(windowMs).refund(key)
  }

  async reset(key: string, windowMs: number): Promise<void> {
    await this.#limiters.of(windowMs).reset(key)
  }

  /** Resets all keys. Only for its own store: a store from the options may hold the counters of others. */
  async resetAll(): Promise<void> {
    const old = this.#store
    this.#store = memoryStore()
    this.#limiters.clear()
    await old.close()
  }

  async close(): Promise<void> {
    if (this.#ownsStore) await this.#store.close()
  }

  #countOf({ degraded, remaining, resetAfterMs, resetAt }: Decision): WindowCount {
    // A local decision is about this instance's share. Each of the other instances may have seen as many requests.
    const instances = degraded === "local" ? (this.#store.instances ?? 1) : 1
    const count = instances * (Math.floor(UNREACHABLE_LIMIT / instances) - remaining)
    return { count, resetAfterMs, resetAt }
  }
}
