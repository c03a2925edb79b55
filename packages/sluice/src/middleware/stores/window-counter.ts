// Counts the requests of a key in a window, whether they pass or not. The stores of other limiters are asked for this count;
// the limiter that asks decides, and nothing is denied here.

import type { Decision } from "../../decision.js"
import { SluiceError } from "../../errors.js"
import { getOrCache } from "../../get-or-add.js"
import { createLimiter, type Limiter } from "../../limiter/limiter.js"
import { checkFields, checkOneOf, checkType, hasMethods, isFilledText } from "../../options.js"
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

const COUNTER_FIELDS = ["store", "prefix", "onStoreFailure"]

export interface WindowCount {
  readonly count: number
  /** Until the window ends; 0 when it has not begun. */
  readonly resetAfterMs: number
  readonly resetAt: number
  /** Whether the key is blocked. It was not counted then. */
  readonly isBlocked: boolean
}

const isStore = hasMethods("check", "charge", "refund", "reset")
/** What ioredis, iovalkey and node-redis have in common. */
const isRedisClient = hasMethods("sendCommand", "eval")

/** Throws for the first invalid option of the function `place`, and for a store or a client in place of the options. */
export function checkCounterOptions(
  options: CounterOptions,
  place: string,
  ownFields: readonly string[] = [],
): void {
  for (const [isIt, what, instead] of [
    [isStore, "a store", "{ store }"],
    [isRedisClient, "a Redis client", "{ store: redisStore(client) }"],
  ] as const) {
    if (!isIt(options)) continue
    throw new SluiceError("OPTION_TYPE", {
      place,
      expected: `takes options, not ${what}: write ${place}(${instead})`,
    })
  }
  checkFields(options, [...COUNTER_FIELDS, ...ownFields], place)
  const { store } = options
  const expected = isRedisClient(store) ? "a store: write store: redisStore(client)" : "a store"
  checkType(store, `${place}.store`, expected, isStore)
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
        // With its unit, because the limiter that asks has named it: a short window is meant.
        window: `${window}ms`,
        algorithm: "fixed-window",
        anchor: "first-request",
        store: this.#store,
        prefix,
        onStoreFailure,
      }),
    )
  }

  /** Throws if a window has no valid length. `place` is its name in the limiter that asks. */
  checkWindow(windowMs: unknown, place: string): void {
    if (typeof windowMs === "number" && windowMs > 0) {
      try {
        this.#limiters.of(windowMs)
        return
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error
      }
    }
    const expected = "must be a number of milliseconds above 0, and at most 10 years"
    throw new SluiceError("WINDOW_INVALID", { place, expected, found: windowMs })
  }

  /** Whether the counters are in a memory store that nobody else uses. */
  get isLocal(): boolean {
    return this.#ownsStore
  }

  async increment(key: unknown, windowMs: number): Promise<WindowCount> {
    return this.#countOf(await this.#limiters.of(windowMs).check(textOf(key)))
  }

  async read(key: unknown, windowMs: number): Promise<WindowCount> {
    return this.#countOf(await this.#limiters.of(windowMs).peek(textOf(key)))
  }

  async decrement(key: unknown, windowMs: number): Promise<void> {
    await this.#limiters.of(windowMs).refund(textOf(key))
  }

  async reset(key: unknown, windowMs: number): Promise<void> {
    await this.#limiters.of(windowMs).reset(textOf(key))
  }

  /** Blocks a key for `durationMs` from now, in windows of every length. */
  async block(key: unknown, windowMs: number, durationMs: number): Promise<void> {
    await this.#limiters.of(windowMs).block(textOf(key), durationMs)
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

  #countOf({ degraded, deniedBy, remaining, resetAfterMs, resetAt }: Decision): WindowCount {
    // A local decision is about this instance's share. Each of the other instances may have seen as many requests.
    const instances = degraded === "local" ? (this.#store.instances ?? 1) : 1
    const count = instances * (Math.floor(UNREACHABLE_LIMIT / instances) - remaining)
    return { count, resetAfterMs, resetAt, isBlocked: deniedBy === "block" }
  }
}

/** Other limiters take any value as a key, also an empty one; limiters here take text that is not empty. */
function textOf(key: unknown): string {
  return `:${String(key)}`
}
