import type { Policy, Verdict } from "./algorithms/algorithm.js"
import { blockPolicy } from "./algorithms/block.js"
import { checkKey, costOf, microsOf } from "./call-options.js"
import type { Clock } from "./clock.js"
import { systemClock } from "./clock.js"
import type { Decision, NamedPolicy } from "./decision.js"
import { admission, decisionOfMany, decisionOfOne, denial } from "./decision.js"
import type { Duration } from "./duration.js"
import { parseDuration } from "./duration.js"
import { SluiceError } from "./errors.js"
import type { LimiterOptions } from "./limiter-options.js"
import { compileLimits } from "./limiter-options.js"
import { checkFields } from "./options.js"
import { overridePolicy } from "./policy.js"
import { giveBack } from "./refund.js"
import { memoryStore } from "./stores/memory/memory-store.js"
import type { Charge, Degraded, Outcome, Store, SyncStore } from "./stores/store.js"
import { isSyncStore, Namespace } from "./stores/store.js"
import type { Turnstile, WaitOptions } from "./wait-queue.js"

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

export interface CheckRequest extends CheckOptions {
  key: string
}

/** A limit without its state: so many units per window. */
export interface LimitPolicy {
  readonly name: string
  readonly quota: number
  readonly windowMs: number
}

/** One limit of a limiter, with the namespace its counters live in. */
interface Limit extends NamedPolicy {
  readonly namespace: Namespace
  readonly overrides: Map<unknown, Policy>
}

const CHECK_FIELDS = ["cost", "at", "limit", "burst"]
/** Distinct per-call limits whose numbers are kept worked out. */
const MOST_OVERRIDES = 1_024

/** A limiter for the given options. Most programs make one per kind of request and keep it. */
export function createLimiter(options: LimiterOptions): Limiter {
  return new Limiter(options)
}

export class Limiter {
  readonly #limits: readonly Limit[]
  /** The only limit, when there is one. */
  readonly #only: Limit | undefined
  /** The same, when the store answers at once by its own clock: nothing is left to work out for a check of a key. */
  readonly #plain: Limit | undefined
  readonly #blocks: Namespace
  readonly #store: Store
  readonly #sync: SyncStore | undefined
  readonly #ownsStore: boolean
  readonly #clock: Clock | undefined
  readonly #onStoreFailure: Degraded
  #turnstile: Promise<Turnstile> | undefined

  constructor(options: LimiterOptions) {
    const { limits, prefix } = compileLimits(options)
    this.#limits = limits.map((limit) => ({
      ...limit,
      namespace: new Namespace(limit.namespace, prefix),
      overrides: new Map(),
    }))
    this.#only = this.#limits.length === 1 ? this.#limits[0] : undefined
    this.#blocks = new Namespace(`${prefix}:block`, prefix)
    this.#clock = options.clock
    this.#onStoreFailure = options.onStoreFailure ?? "local"
    this.#ownsStore = options.store === undefined
    this.#store = options.store ?? memoryStore(options.clock && { clock: options.clock })
    this.#sync = isSyncStore(this.#store) ? this.#store : undefined
    this.#plain = this.#sync !== undefined && options.clock === undefined ? this.#only : undefined
  }

  /** Whether the store answers at once, so that `checkSync` works. */
  get isSync(): boolean {
    return this.#sync !== undefined
  }

  /** What its limits promise, in order; for headers. */
  get policies(): readonly LimitPolicy[] {
    return this.#limits.map(({ name, policy }) => {
      return { name, quota: policy.limit, windowMs: policy.window / 1000 }
    })
  }

  /** Decides whether a request may pass, and charges it if so. */
  check(key: string, options?: CheckOptions): Promise<Decision> {
    return this.#sync === undefined ? this.#ask(key, options) : this.#answer(key, options)
  }

  async #ask(key: string, options: CheckOptions | undefined): Promise<Decision> {
    const charges = this.#charges(key, options)
    return this.#decisionOf(
      options,
      await this.#store.check(charges, this.#at(options), this.#onStoreFailure),
    )
  }

  /**
   * `checkSync` once more, written out instead of called, as `decisionOfOne` is in both: the engine then sees the decision
   * being made, and need not look for a `then` on it, which takes a tenth of the time.
   */
  async #answer(key: string, options: CheckOptions | undefined): Promise<Decision> {
    const plain = this.#plain
    const store = this.#sync as SyncStore
    if (
      plain === undefined ||
      options !== undefined ||
      typeof key !== "string" ||
      !key ||
      store.mayBlock(this.#blocks)
    ) {
      return this.#checkWith(key, options)
    }
    const { policy } = plain
    const verdict = store.checkOneSync(plain.namespace, key, policy, 1)
    return verdict.allowed
      ? admission(policy, verdict, verdict)
      : denial(plain.name, policy, verdict, verdict)
  }

  /** `check` without a promise, on a store in memory. */
  checkSync(key: string, options?: CheckOptions): Decision {
    const plain = this.#plain
    const store = this.#sync as SyncStore
    if (
      plain === undefined ||
      options !== undefined ||
      typeof key !== "string" ||
      !key ||
      store.mayBlock(this.#blocks)
    ) {
      return this.#checkWith(key, options)
    }
    const { policy } = plain
    const verdict = store.checkOneSync(plain.namespace, key, policy, 1)
    return verdict.allowed
      ? admission(policy, verdict, verdict)
      : denial(plain.name, policy, verdict, verdict)
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
    const turnstile = await this.#openTurnstile()
    return await turnstile.wait(this, key, options)
  }

  /**
   * Gives back what a request was charged, at most what is charged now. Returns the state after it. With the `decision` that
   * let the request through, a limit that has forgotten the charge since is left alone: whoever refunds after an answer
   * should give it, or a slow request takes away what newer ones were charged.
   */
  async refund(key: string, cost = 1, decision?: Decision): Promise<Decision> {
    const charges = this.#limitCharges(key, { cost })
    const at = this.#at(undefined)
    if (decision === undefined) await this.#store.refund(charges, at, this.#onStoreFailure)
    else {
      const given = charges.map((charge, i) => {
        return { charge, forgottenAt: (decision.limits?.[i] ?? decision).resetAt }
      })
      await giveBack(this.#store, given, at, this.#onStoreFailure)
    }
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
    turnstile?.close()
    if (this.#ownsStore) await this.#store.close()
  }

  /** Loaded with the first wait: most programs never wait, and need not carry it. */
  #openTurnstile(): Promise<Turnstile> {
    const clock = this.#clock ?? systemClock
    const schedule = clock.schedule ?? systemClock.schedule
    this.#turnstile ??= import("./wait-queue.js").then(({ Turnstile }) => {
      return new Turnstile({
        now: () => clock.now(),
        schedule: (ms, callback) => schedule.call(clock, ms, callback),
      })
    })
    return this.#turnstile
  }

  /** A check that says more than its key, or meets more than one limit. */
  #checkWith(key: string, options: CheckOptions | undefined): Decision {
    const store = this.#sync
    if (store === undefined) throw notSync()
    const only = this.#only
    if (only === undefined || store.mayBlock(this.#blocks)) {
      return this.#decisionOf(options, store.checkSync(this.#charges(key, options), this.#at(options)))
    }
    checkKey(key)
    checkCallOptions(options)
    const policy = this.#policyFor(only, options)
    const verdict = store.checkOneSync(only.namespace, key, policy, costOf(options?.cost), this.#at(options))
    return decisionOfOne(only.name, policy, verdict, verdict)
  }

  #decisionOf(options: CheckOptions | undefined, outcome: Outcome): Decision {
    const { verdicts } = outcome
    const only = this.#only
    if (only !== undefined && verdicts.length === 1) {
      return decisionOfOne(only.name, this.#policyFor(only, options), verdicts[0] as Verdict, outcome)
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
    const cost = costOf(options?.cost)
    return this.#limits.map((limit) => ({
      namespace: limit.namespace,
      key,
      policy: this.#policyFor(limit, options),
      cost,
    }))
  }

  #blockCharge(key: string): Charge {
    checkKey(key)
    return { namespace: this.#blocks, key, policy: blockPolicy, cost: 0 }
  }

  #policyFor(limit: Limit, options: CheckOptions | undefined): Policy {
    if (options === undefined || (options.limit === undefined && options.burst === undefined))
      return limit.policy
    if (this.#limits.length > 1) {
      throw new SluiceError("OPTION_CONFLICT", {
        place: "check",
        expected: "takes limit and burst only with one limit",
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
    return ms === undefined ? undefined : microsOf(ms)
  }
}

function notSync(): SluiceError {
  return new SluiceError("STORE_NOT_SYNC", {
    place: "checkSync",
    expected: "needs the memory store; use check",
  })
}

function checkCallOptions(options: unknown): void {
  if (options !== undefined) checkFields(options, CHECK_FIELDS, "check")
}
