// How many requests a key has made in its window, counted whether they pass or not: what the stores of other limiters
// are asked for. The limiter that asks decides; here nothing is ever denied.

import type { Decision } from "../../decision.js"
import { createLimiter, type Limiter } from "../../limiter.js"
import { checkOneOf, checkType, hasMethods } from "../../options.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import type { Degraded, Store } from "../../stores/store.js"

export interface TallyOptions {
  /** Where counters live. Default: a memory store of its own. */
  store?: Store
  /** Keeps the counters apart from others in the same store. */
  prefix?: string
  /** What counts when the store cannot. Default: `"local"`, this instance's count times the instances there are. */
  onStoreFailure?: Degraded
}

export const TALLY_FIELDS = ["store", "prefix", "onStoreFailure"] as const

export interface Tally {
  readonly count: number
  /** Until the window ends; 0 when it has not begun. */
  readonly resetAfterMs: number
  readonly resetAt: number
}

export function checkTallyOptions(options: TallyOptions, place: string): void {
  checkType(options.store, `${place}.store`, "a store", hasMethods("check", "charge", "refund", "reset"))
  checkType(options.prefix, `${place}.prefix`, "a string that is not empty", (prefix) => {
    return typeof prefix === "string" && prefix !== ""
  })
  checkOneOf(options.onStoreFailure, ["local", "allow", "deny"], `${place}.onStoreFailure`)
}

/** Never reached, so that every request is charged. */
const BOUNDLESS = 2 ** 40
/** Windows of different lengths that one counter keeps at hand; applications have a handful. */
const MOST_WINDOWS = 1_024

export class TallyCounter {
  readonly #options: TallyOptions
  readonly #ownsStore: boolean
  #store: Store
  readonly #limiters = new Map<number, Limiter>()

  constructor(options: TallyOptions) {
    this.#options = options
    this.#ownsStore = options.store === undefined
    this.#store = options.store ?? memoryStore()
  }

  /** Whether nobody else sees these counters. */
  get isLocal(): boolean {
    return this.#ownsStore
  }

  async add(key: string, windowMs: number): Promise<Tally> {
    return this.#tallyOf(await this.#limiterFor(windowMs).check(key))
  }

  async look(key: string, windowMs: number): Promise<Tally> {
    return this.#tallyOf(await this.#limiterFor(windowMs).peek(key))
  }

  async takeBack(key: string, windowMs: number): Promise<void> {
    await this.#limiterFor(windowMs).refund(key)
  }

  async reset(key: string, windowMs: number): Promise<void> {
    await this.#limiterFor(windowMs).reset(key)
  }

  /** Forgets all keys. Only for a store of its own: others may have counters in a given one. */
  async resetAll(): Promise<void> {
    const old = this.#store
    this.#store = memoryStore()
    this.#limiters.clear()
    await old.close()
  }

  async close(): Promise<void> {
    if (this.#ownsStore) await this.#store.close()
  }

  #limiterFor(windowMs: number): Limiter {
    let limiter = this.#limiters.get(windowMs)
    if (limiter === undefined) {
      const { prefix = "sluice", onStoreFailure = "local" } = this.#options
      limiter = createLimiter({
        limit: BOUNDLESS,
        window: windowMs,
        algorithm: "fixed-window",
        anchor: "first-request",
        store: this.#store,
        prefix,
        onStoreFailure,
      })
      if (this.#limiters.size >= MOST_WINDOWS) this.#limiters.clear()
      this.#limiters.set(windowMs, limiter)
    }
    return limiter
  }

  #tallyOf({ degraded, remaining, resetAfterMs, resetAt }: Decision): Tally {
    // A local decision is about this instance's share. As many as came here may have come to each of the others.
    const instances = degraded === "local" ? (this.#store.instances ?? 1) : 1
    const count = instances * (Math.floor(BOUNDLESS / instances) - remaining)
    return { count, resetAfterMs, resetAt }
  }
}
