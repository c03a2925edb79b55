import { createLimiter, type Degraded, type Limiter, type Store } from "sluice"

/** One check as its caller saw it. Times of the caller are those of `performance.now()`. */
export interface Sample {
  readonly policy: Degraded
  readonly key: string
  readonly startedAt: number
  readonly endedAt: number
  readonly allowed: boolean
  readonly degraded: Degraded | undefined
  /** The time the decision was made at, in ms since 1970, by the clock of whoever made it. */
  readonly decidedAt: number
}

export interface LoadOptions {
  /** Checks per second, over all three policies. Default: 300. */
  perSecond?: number
  /** Units per key and window. Default: 20. */
  limit?: number
  /** Default: 1,000. */
  windowMs?: number
  /** Keys besides `HOT`, which gets half of all checks and more than its limit. Default: 16. */
  otherKeys?: number
  seed?: number
}

export const POLICIES = ["local", "allow", "deny"] as const
export const HOT = "hot"

/** After a pause of the event loop, overdue checks are sent in portions, as they would arrive from a socket. */
const MAX_PER_TICK = 16

/**
 * A steady stream of checks that does not wait for answers: one limiter for each value of
 * `onStoreFailure`, the exact sliding log (kept in a sorted set) and a token bucket (kept in a string) in every check.
 */
export class Load {
  readonly samples: Sample[] = []
  /** The errors of rejected checks. Must stay empty, whatever happens to the store. */
  readonly errors: unknown[] = []
  readonly limit: number
  readonly windowMs: number
  readonly #limiters: Record<Degraded, Limiter>
  readonly #perMs: number
  readonly #otherKeys: number
  readonly #random: () => number
  readonly #inFlight = new Set<Promise<void>>()
  #startedAt = 0
  #sent = 0
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store, options: LoadOptions = {}) {
    const { perSecond = 300, limit = 20, windowMs = 1_000, otherKeys = 16, seed = 1 } = options
    this.limit = limit
    this.windowMs = windowMs
    this.#perMs = perSecond / 1_000
    this.#otherKeys = otherKeys
    this.#random = seededRandom(seed)
    const limiterFor = (onStoreFailure: Degraded): Limiter =>
      createLimiter({
        store,
        onStoreFailure,
        prefix: `chaos-${onStoreFailure}`,
        limits: [
          { name: "log", algorithm: "sliding-window-log", limit, window: windowMs },
          { name: "bucket", algorithm: "token-bucket", limit: limit * 100, window: windowMs },
        ],
      })
    this.#limiters = { local: limiterFor("local"), allow: limiterFor("allow"), deny: limiterFor("deny") }
  }

  start(): void {
    this.#startedAt = performance.now()
    this.#sent = 0
    this.#tick()
  }

  /** Sends no more checks. Some may still be in progress. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  /** Checks without an answer so far. */
  get waiting(): number {
    return this.#inFlight.size
  }

  /** The checks that began after a moment, and have been answered. */
  since(moment: number): Sample[] {
    return this.samples.filter(({ startedAt }) => startedAt >= moment)
  }

  #tick(): void {
    const due = Math.floor((performance.now() - this.#startedAt) * this.#perMs) - this.#sent
    for (let i = 0; i < Math.min(due, MAX_PER_TICK); i++) {
      const policy = POLICIES[this.#sent++ % POLICIES.length] as Degraded
      const key = this.#random() < 0.5 ? HOT : `key-${Math.floor(this.#random() * this.#otherKeys)}`
      const check = this.#check(policy, key).finally(() => this.#inFlight.delete(check))
      this.#inFlight.add(check)
    }
    this.#timer = setTimeout(() => this.#tick(), 1)
  }

  async #check(policy: Degraded, key: string): Promise<void> {
    const startedAt = performance.now()
    try {
      const { allowed, degraded, resetAt, resetAfterMs } = await this.#limiters[policy].check(key)
      const endedAt = performance.now()
      this.samples.push({
        policy,
        key,
        startedAt,
        endedAt,
        allowed,
        degraded,
        decidedAt: resetAt - resetAfterMs,
      })
    } catch (error) {
      this.errors.push(error)
    }
  }
}

/** Numbers in [0, 1) that are the same in every run: xorshift. */
export function seededRandom(seed: number): () => number {
  // Similar seeds must not give similar sequences.
  let state = Math.imul(seed + 1, 0x9e3779b1) || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
