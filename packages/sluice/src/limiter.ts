import type { Policy, Verdict } from "./algorithms/algorithm.js"
import { blockPolicy } from "./algorithms/block.js"
import type { Clock } from "./clock.js"
import { systemClock } from "./clock.js"
import type { Decision, NamedPolicy } from "./decision.js"
import { decisionOfMany, decisionOfOne } from "./decision.js"
import type { Duration } from "./duration.js"
import { parseDuration } from "./duration.js"
import { SluiceError } from "./errors.js"
import type { LimiterOptions } from "./limiter-options.js"
import { compileLimits } from "./limiter-options.js"
import { checkFields, checkType } from "./options.js"
import { overridePolicy } from "./policy.js"
import { memoryStore } from "./stores/memory/memory-store.js"
import type { Charge, Degraded, Outcome, Store, SyncStore } from "./stores/store.js"
import { isSyncStore, Space } from "./stores/store.js"
import type { Turnstile } from "./turnstile.js"

export interface CheckOptions {
  /** Whole units. Default: 1. With 0 the check only looks. */
  cost?: number
  /** The time of the request in milliseconds since 1970. Default: the store's clock. */
  at?: number
  /** Another limit for this call. What was charged before stays charged. */
  limit?: number
  /** Another burst for this call. */
  burst?: number
}

export interface WaitOptions {
  cost?: number
  limit?: number
  burst?: number
  /** Ends the wait; the promise rejects with its reason. */
  signal?: AbortSignal
  /** The longest wait in milliseconds. Default: no bound. */
  maxWaitMs?: number
}

export interface CheckRequest extends CheckOptions {
  key: string
}

/** One limit of a limiter, with the space its counters live in. */
interface Limit extends NamedPolicy {
  readonly space: Space
  readonly overrides: Map<unknown, Policy>
}

const CHECK_FIELDS = ["cost", "at", "limit", "burst"]
const WAIT_FIELDS = ["cost", "limit", "burst", "signal", "maxWaitMs"]
/** Distinct per-call limits whose numbers are kept worked out. */
const MOST_OVERRIDES = 1_024
/** The end of the representable dates: anything later is a mistake, often microseconds. */
const LATEST_TIME = 8.64e15 / 1000

/** A limiter for the given options. Most programs make one per kind of request and keep it. */
export function createLimiter(options: LimiterOptions): Limiter {
  return new Limiter(options)
}

export class Limiter {
  readonly #limits: readonly Limit[]
  /** The only limit, when there is one. */
  readonly #only: Limit | undefined
  /** The same, when the store's clock counts: nothing is left to work out for a check that only names its key. */
  readonly #plain: Limit | undefined
  readonly #blocks: Space
  readonly #store: Store
  readonly #sync: SyncStore | undefined
  readonly #ownsStore: boolean
  readonly #clock: Clock | undefined
  readonly #onStoreFailure: Degraded
  #turnstile: Promise<Turnstile> | undefined

  constructor(options: LimiterOptions) {
    const { limits, prefix } = compileLimits(options)
    this.#limits = limits.map((limit) => ({ ...limit, space: new Space(limit.space), overrides: new Map() }))
    this.#only = this.#limits.length === 1 ? this.#limits[0] : undefined
    this.#plain = options.clock === undefined ? this.#only : undefined
    this.#blocks = new Space(`${prefix}:block`)
    this.#clock = options.clock
    this.#onStoreFailure = options.onStoreFailure ?? "local"
    this.#ownsStore = options.store === undefined
    this.#store = options.store ?? memoryStore(options.clock === undefined ? {} : { clock: options.clock })
    this.#sync = isSyncStore(this.#store) ? this.#store : undefined
  }

  /** Decides whether a request may pass, and charges it if so. */
  async check(key: string, options?: CheckOptions): Promise<Decision> {
    if (this.#sync !== undefined) return this.#checkSync(this.#sync, key, options)
    const charges = this.#charges(key, options)
    return this.#decisionOf(
      options,
      await this.#store.check(charges, this.#at(options), this.#onStoreFailure),
    )
  }

  /** `check` without a promise, on a store in memory. */
  checkSync(key: string, options?: CheckOptions): Decision {
    if (this.#sync === undefined) throw notSync()
    return this.#checkSync(this.#sync, key, options)
  }

  /** Looks at a key: a check of cost 0. `remaining` is the largest cost that would pass. */
  peek(key: string, options?: Omit<CheckOptions, "cost">): Promise<Decision> {
    return this.check(key, { ...options, cost: 0 })
  }

  /** Decides a list of requests in one go, in order. Each is all-or-nothing by itself. */
  async checkMany(requests: readonly CheckRequest[]): Promise<Decision[]> {
    const options = requests.map(({ key: _key, ...rest }) => rest)
    const checks = requests.map((request, i) => ({
      charges: this.#charges(request.key, options[i]),
      at: this.#at(options[i]),
    }))
    const outcomes = await this.#store.checkMany(checks, this.#onStoreFailure)
    return outcomes.map((outcome, i) => this.#decisionOf(options[i], outcome))
  }

  /**
   * Waits until the request may pass, first come, first served per key. Resolves with the denial instead when that would
   * take longer than `maxWaitMs` or for ever; rejects with the signal's reason when aborted.
   */
  async wait(key: string, options: WaitOptions = {}): Promise<Decision> {
    checkFields(options, WAIT_FIELDS, "wait")
    const { signal, maxWaitMs, ...rest } = options
    checkType(signal, "wait.signal", "an AbortSignal", (value) => value instanceof AbortSignal)
    checkType(maxWaitMs, "wait.maxWaitMs", "milliseconds ≥ 0", (ms) => typeof ms === "number" && ms >= 0)
    const question = {
      check: () => this.check(key, rest),
      peek: () => this.peek(key),
      refund: () => this.refund(key, rest.cost),
    }
    const turnstile = await this.#openTurnstile()
    return await turnstile.pass(key, question, signal, maxWaitMs)
  }

  /** Gives back what a request was charged, at most what is charged now. Returns the state after it. */
  async refund(key: string, cost = 1): Promise<Decision> {
    await this.#store.refund(this.#limitCharges(key, { cost }), this.#at(undefined), this.#onStoreFailure)
    return this.peek(key)
  }

  /** Forgets a key. A block stays. */
  async reset(key: string): Promise<void> {
    await this.#store.reset(this.#limitCharges(key, undefined), this.#onStoreFailure)
  }

  /** Denies every request of a key for a while. Blocking again sets the time anew; calls meanwhile do not extend it. */
  async block(key: string, duration: Duration): Promise<void> {
    const cost = Math.round(parseDuration(duration, "block") * 1000)
    await this.#store.charge([{ ...this.#blockCharge(key), cost }], this.#at(undefined), this.#onStoreFailure)
  }

  async unblock(key: string): Promise<void> {
    await this.#store.reset([this.#blockCharge(key)], this.#onStoreFailure)
  }

  /** Ends waiting and lets go of the store if the limiter made it. A store you passed in is yours to close. */
  async close(): Promise<void> {
    const turnstile = await this.#turnstile
    turnstile?.close(
      new SluiceError("LIMITER_CLOSED", { place: "wait", expected: "ended: the limiter was closed" }),
    )
    if (this.#ownsStore) await this.#store.close()
  }

  /** Loaded with the first wait: most programs never wait, and need not carry it. */
  #openTurnstile(): Promise<Turnstile> {
    const clock = this.#clock ?? systemClock
    const schedule = clock.schedule ?? systemClock.schedule
    this.#turnstile ??= import("./turnstile.js").then(({ Turnstile }) => {
      return new Turnstile({
        now: () => clock.now(),
        schedule: (ms, callback) => schedule.call(clock, ms, callback),
      })
    })
    return this.#turnstile
  }

  #checkSync(store: SyncStore, key: string, options: CheckOptions | undefined): Decision {
    const plain = this.#plain
    if (options !== undefined || plain === undefined || store.mayBlock(this.#blocks)) {
      return this.#checkWith(store, key, options)
    }
    checkKey(key)
    const verdict = store.checkOneSync(plain.space, key, plain.policy, 1)
    return decisionOfOne(plain.name, plain.policy, verdict, verdict.now, verdict.degraded)
  }

  /** A check that says more than its key, or meets more than one limit. */
  #checkWith(store: SyncStore, key: string, options: CheckOptions | undefined): Decision {
    const only = this.#only
    if (only === undefined || store.mayBlock(this.#blocks)) {
      return this.#decisionOf(options, store.checkSync(this.#charges(key, options), this.#at(options)))
    }
    checkKey(key)
    checkCallOptions(options)
    const policy = this.#policyFor(only, options)
    const verdict = store.checkOneSync(only.space, key, policy, costOf(options), this.#at(options))
    return decisionOfOne(only.name, policy, verdict, verdict.now, verdict.degraded)
  }

  #decisionOf(options: CheckOptions | undefined, outcome: Outcome): Decision {
    const { degraded, now, verdicts } = outcome
    const only = this.#only
    if (only !== undefined && verdicts.length === 1) {
      return decisionOfOne(only.name, this.#policyFor(only, options), verdicts[0] as Verdict, now, degraded)
    }
    const limits = this.#limits.map((limit) => ({
      name: limit.name,
      policy: this.#policyFor(limit, options),
    }))
    return decisionOfMany(limits, verdicts, outcome, verdicts[limits.length])
  }

  /** What a check charges: every limit, and the block of the key if there may be one. */
  #charges(key: string, options: CheckOptions | undefined): Charge[] {
    const charges = this.#limitCharges(key, options)
    if (this.#store.mayBlock(this.#blocks)) charges.push(this.#blockCharge(key))
    return charges
  }

  #limitCharges(key: string, options: CheckOptions | undefined): Charge[] {
    checkKey(key)
    checkCallOptions(options)
    const cost = costOf(options)
    return this.#limits.map((limit) => ({
      space: limit.space,
      key,
      policy: this.#policyFor(limit, options),
      cost,
    }))
  }

  #blockCharge(key: string): Charge {
    checkKey(key)
    return { space: this.#blocks, key, policy: blockPolicy, cost: 0 }
  }

  #policyFor(limit: Limit, options: CheckOptions | undefined): Policy {
    if (options === undefined || (options.limit === undefined && options.burst === undefined))
      return limit.policy
    if (this.#limits.length > 1) {
      throw new SluiceError("OPTION_CONFLICT", {
        place: "check",
        expected: "needs a limiter with one limit for limit and burst",
      })
    }
    const name = options.burst === undefined ? options.limit : JSON.stringify([options.limit, options.burst])
    let policy = limit.overrides.get(name)
    if (policy === undefined) {
      policy = overridePolicy(limit.policy, options.limit, options.burst)
      if (limit.overrides.size >= MOST_OVERRIDES) limit.overrides.clear()
      limit.overrides.set(name, policy)
    }
    return policy
  }

  /** The time of the request in microseconds, or undefined to let the store's clock decide. */
  #at(options: CheckOptions | undefined): number | undefined {
    const ms = options?.at === undefined ? this.#clock?.now() : options.at
    if (ms === undefined) return undefined
    if (typeof ms !== "number" || !(ms >= 0 && ms <= LATEST_TIME)) {
      throw new SluiceError("TIME_INVALID", {
        place: "at",
        expected: "must be a time in milliseconds since 1970",
        found: ms,
      })
    }
    return Math.round(ms * 1000)
  }
}

function notSync(): SluiceError {
  return new SluiceError("STORE_NOT_SYNC", {
    place: "checkSync",
    expected: "needs the memory store; use check with this one",
  })
}

function costOf(options: CheckOptions | undefined): number {
  const cost = options?.cost
  if (cost === undefined) return 1
  if (!Number.isInteger(cost) || cost < 0 || cost > Number.MAX_SAFE_INTEGER) {
    throw new SluiceError("COST_INVALID", { place: "cost", expected: "must be an integer ≥ 0", found: cost })
  }
  return cost
}

function checkKey(key: unknown): void {
  if (typeof key === "string" && key !== "") return
  throw new SluiceError("KEY_INVALID", {
    place: "key",
    expected: "must be a string that is not empty",
    found: key,
  })
}

function checkCallOptions(options: unknown): void {
  if (options !== undefined) checkFields(options, CHECK_FIELDS, "check")
}
