import type { Verdict } from "../algorithms/algorithm.js"
import { isConcurrency } from "../algorithms/concurrency.js"
import type { CheckOptions, CheckRequest } from "../call-options.js"
import { costOf, microsOf } from "../call-options.js"
import type { Clock } from "../clock.js"
import { schedulingClock } from "../clock.js"
import type { Decision } from "../decision.js"
import { decisionOfMany, decisionOfOne } from "../decision.js"
import type { Duration } from "../duration.js"
import { parseDuration } from "../duration.js"
import { SluiceError } from "../errors.js"
import type { HeaderPolicy } from "../header-style.js"
import { checkList, checkObject } from "../options.js"
import { promiseOf } from "../policy.js"
import type { LeaseStats } from "../stores/leases/lease-stats.js"
import type { LeasingStore } from "../stores/leases/leasing-store.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import type { Charge, Degraded, Outcome, Store, SyncStore } from "../stores/store.js"
import { isSyncStore, Namespace } from "../stores/store.js"
import type { AcquiredDecision, AcquireOptions, HoldingLimiter, Holds } from "./holds.js"
import type { LimiterOptions } from "./limiter-options.js"
import { compileLimits, warnOfDoubtfulWindows } from "./limiter-options.js"
import {
  blockCharge,
  type Limit,
  limitCharges,
  limitOf,
  penaltyCharges,
  policyFor,
  policyOfCall,
} from "./limits.js"
import { giveBack } from "./refund.js"
import type { Reservations, ReservedDecision, ReserveOptions } from "./reservations.js"
import { type Registration, register } from "./unnamed-limiters.js"
import type { WaitOptions, WaitQueue } from "./wait-queue.js"

/** What a limit promises: `quota` units per window. */
export interface LimitPolicy {
  readonly name: string
  readonly quota: number
  /** 0 for a limit of concurrency, which has no window. */
  readonly windowMs: number
  /** What is counted, if not requests. */
  readonly unit?: HeaderPolicy["unit"]
}

/** Creates a limiter. Most programs create one per kind of request and keep it. */
export function createLimiter(options: LimiterOptions): Limiter {
  const limiter = new StoreLimiter(options)
  warnOfDoubtfulWindows(options)
  return limiter
}

/** What a limiter offers, without the private parts of its class: TypeScript also accepts a limiter of another copy of the library. */
export interface Limiter extends Pick<StoreLimiter, keyof StoreLimiter> {}

class StoreLimiter {
  readonly #limits: readonly Limit[]
  readonly #hasPenalty: boolean
  /** Set if the limiter has exactly one limit, without a penalty. */
  readonly #only: Limit | undefined
  readonly #blocks: Namespace
  /** The store, or the leases around it once they are loaded. */
  #store: Store
  /** The store, if it answers synchronously. */
  readonly #sync: SyncStore | undefined
  readonly #ownsStore: boolean
  readonly #clock: Clock | undefined
  readonly #onStoreFailure: Degraded
  /** Set if the limiter has neither a name nor a prefix on a store that others may use. */
  readonly #unnamed: Registration | undefined
  /** Whether a limit is of concurrency, so that requests must acquire. */
  readonly #mustAcquire: boolean
  #waitQueue: Promise<WaitQueue> | undefined
  #leasing: LeasingStore | undefined
  /** Set while the leases are being loaded. */
  #loading: Promise<void> | undefined
  #holds: Holds | undefined
  #reservations: Reservations | undefined

  constructor(options: LimiterOptions) {
    const { limits, prefix, unnamed } = compileLimits(options)
    this.#limits = limits.map((limit) => limitOf(limit, prefix))
    this.#hasPenalty = this.#limits.some(({ penalty }) => penalty !== undefined)
    this.#only = this.#limits.length === 1 && !this.#hasPenalty ? this.#limits[0] : undefined
    this.#mustAcquire = this.#limits.some(({ policy }) => isConcurrency(policy))
    this.#blocks = new Namespace(`${prefix}:block`, prefix)
    this.#clock = options.clock
    this.#onStoreFailure = options.onStoreFailure ?? "local"
    this.#ownsStore = options.store === undefined
    this.#store = options.store ?? memoryStore(options.clock && { clock: options.clock })
    this.#sync = isSyncStore(this.#store) ? this.#store : undefined
    if (this.#mustAcquire && this.#store.release === undefined) {
      const expected = "must be a store with release and extend for a limit of concurrency"
      throw new SluiceError("OPTION_CONFLICT", { place: "createLimiter.store", expected })
    }
    if (!this.#ownsStore && unnamed !== undefined) {
      this.#unnamed = register(this.#store, unnamed, options.logger)
    }
    // A store in memory needs no leases: its limits only decide as they would on a shared store.
    if (this.#sync === undefined && this.#limits.some(({ policy }) => policy.lease > 0))
      this.#loading = this.#loadLeases()
  }

  /** Whether the store answers synchronously, so that `checkSync` works. */
  get isSync(): boolean {
    return this.#sync !== undefined
  }

  /** What each limit promises, in order. Middlewares write it into headers. */
  get policies(): readonly LimitPolicy[] {
    return this.#limits.map(({ name, policy }) => ({ name, ...promiseOf(policy) }))
  }

  /** What leases have done so far. Undefined without leases, and until the first check. */
  get leases(): LeaseStats | undefined {
    return this.#leasing?.stats
  }

  /** Decides whether a request may pass, and charges it if it may. */
  async check(key: string, options?: CheckOptions): Promise<Decision> {
    if (this.#mustAcquire) await this.#openHolds()
    if (this.#sync !== undefined) return this.checkSync(key, options)
    if (this.#loading !== undefined) await this.#loading
    if (this.#leasing !== undefined) return this.checkEither(key, options)
    const charges = this.#charges(key, options)
    const outcome = await this.#store.check(charges, this.#at(options), this.#onStoreFailure)
    return this.#decisionOf(options, outcome)
  }

  /**
   * `check` that returns a promise only if it must wait for the store: a store in memory and a lease answer at once. For code that
   * is called so often that a promise for each call matters.
   */
  checkEither(key: string, options?: CheckOptions): Decision | Promise<Decision> {
    if (this.#sync !== undefined) return this.checkSync(key, options)
    const leasing = this.#leasing
    if (leasing === undefined) return this.check(key, options)
    const only = this.#only
    if (only !== undefined && options?.at === undefined && !leasing.mayBlock(this.#blocks)) {
      const policy = policyOfCall(only, key, options)
      const verdict = leasing.checkOneHeld(only.namespace, key, policy, costOf(options?.cost))
      if (verdict !== undefined) return decisionOfOne(only.name, policy, verdict, verdict)
    }
    const charges = this.#charges(key, options)
    const outcome = leasing.checkEither(charges, this.#at(options), this.#onStoreFailure)
    return outcome instanceof Promise
      ? outcome.then((made) => this.#decisionOf(options, made))
      : this.#decisionOf(options, outcome)
  }

  /** `check` without a promise. It needs a store that answers at once, such as the memory store. */
  checkSync(key: string, options?: CheckOptions): Decision {
    const store = this.#sync
    if (store === undefined) throw notSync()
    const only = this.#only
    if (this.#mustAcquire && this.#holds === undefined)
      throw holdRequired("checkSync", "call acquire, or peek")
    if (only === undefined || this.#mustAcquire || store.mayBlock(this.#blocks)) {
      return this.#decisionOf(options, store.checkSync(this.#charges(key, options), this.#at(options)))
    }
    const policy = policyOfCall(only, key, options)
    // Without a list of charges and an outcome, a check on a hot key takes an eighth of the time.
    const cost = costOf(options?.cost)
    const verdict = store.checkOneSync(only.namespace, key, policy, cost, this.#at(options))
    return decisionOfOne(only.name, policy, verdict, verdict)
  }

  /**
   * Decides without charging: a check of cost 0. `remaining` is the largest cost that would be allowed, and `retryAfterMs` says
   * when one unit is allowed if none is left.
   */
  peek(key: string, options?: Omit<CheckOptions, "cost">): Promise<Decision> {
    return this.check(key, { ...options, cost: 0 })
  }

  /** Decides several requests with one call to the store, in order. Each request is all-or-nothing by itself. */
  async checkMany(requests: readonly CheckRequest[]): Promise<Decision[]> {
    checkList(requests, "checkMany")
    if (this.#mustAcquire) await this.#openHolds()
    for (const [i, request] of requests.entries()) checkObject(request, `checkMany[${i}]`)
    const options = requests.map(({ key: _key, ...rest }) => rest)
    const checks = requests.map((request, i) => ({
      charges: this.#charges(request.key, options[i]),
      at: this.#at(options[i]),
    }))
    const outcomes = await this.#store.checkMany(checks, this.#onStoreFailure)
    return outcomes.map((outcome, i) => this.#decisionOf(options[i], outcome))
  }

  /**
   * Waits until the request is allowed, first come, first served per key. Resolves with the denial if that takes longer than
   * `maxWaitMs` or can never happen. Rejects with the signal's reason if the signal aborts.
   */
  async wait(key: string, options: WaitOptions = {}): Promise<Decision> {
    const queue = await this.#openWaitQueue()
    return await queue.wait(this, key, options)
  }

  /**
   * `check` for limits of concurrency: the decision has a `hold`, which keeps the place until it is released, or until the `hold`
   * of its limit is over. Waits for a free place for up to `maxWaitMs`.
   */
  acquire(key: string, options?: AcquireOptions): Promise<AcquiredDecision> {
    if (this.#holds !== undefined) return this.#holds.acquire(key, options)
    return this.#openHolds().then((holds) => holds.acquire(key, options))
  }

  /**
   * `check` for a request whose real cost is known later. Charges the estimate `cost`. If that is allowed, the decision has a
   * `reservation`: settle it with the real cost, or cancel it. A reservation that nobody settles keeps its estimate charged.
   */
  async reserve(key: string, options: ReserveOptions = {}): Promise<ReservedDecision> {
    this.#reservations ??= await this.#openReservations()
    return await this.#reservations.reserve(key, options)
  }

  /**
   * Gives back the units of a request, at most what is charged now, and returns the state after the refund. Pass the
   * `decision` that allowed the request when you refund after the response: a limit whose window has ended since then is left
   * alone. Without it, the refund of a slow request takes units that newer requests were charged.
   */
  async refund(key: string, cost = 1, decision?: Decision): Promise<Decision> {
    if (this.#mustAcquire) throw holdRequired("refund", "release the hold that acquire returned")
    const charges = limitCharges(this.#limits, key, { cost })
    const at = this.#at(undefined)
    if (decision !== undefined) checkObject(decision, "refund.decision")
    if (decision === undefined) await this.#store.refund(charges, at, this.#onStoreFailure)
    else {
      const given = charges.map((charge, i) => {
        return { charge, forgottenAt: (decision.limits?.[i] ?? decision).resetAt }
      })
      await giveBack(this.#store, given, at, this.#onStoreFailure)
    }
    return this.peek(key)
  }

  /** Forgets what a key was charged. A block of the key stays. */
  async reset(key: string): Promise<void> {
    if (this.#mustAcquire) await this.#openHolds()
    await this.#store.reset(limitCharges(this.#limits, key, undefined), this.#onStoreFailure)
  }

  /** Denies every request of a key for `duration`. Blocking it again restarts the time; denied requests do not extend it. */
  async block(key: string, duration: Duration): Promise<void> {
    const cost = Math.round(parseDuration(duration, "block") * 1000)
    await this.#store.charge(
      [{ ...blockCharge(this.#blocks, key), cost }],
      this.#at(undefined),
      this.#onStoreFailure,
    )
  }

  /** Ends the block of a key, and forgets the denials and blocks that a penalty has counted. */
  async unblock(key: string): Promise<void> {
    const penalties = penaltyCharges(this.#limits, limitCharges(this.#limits, key, undefined))
    await this.#store.reset([blockCharge(this.#blocks, key), ...penalties], this.#onStoreFailure)
  }

  /** Rejects every wait, and closes the store if the limiter created it. A store that you passed in is yours to close. */
  async close(): Promise<void> {
    const queue = await this.#waitQueue
    queue?.close()
    this.#unnamed?.end()
    await this.#loading
    await this.#leasing?.close()
    if (this.#ownsStore) await this.#store.close()
  }

  /** Loads the wait queue with the first wait, because most programs never wait. */
  #openWaitQueue(): Promise<WaitQueue> {
    this.#waitQueue ??= import("./wait-queue.js").then(
      ({ WaitQueue }) => new WaitQueue(schedulingClock(this.#clock)),
    )
    return this.#waitQueue
  }

  /** Loads the leases, because most programs have none. */
  async #loadLeases(): Promise<void> {
    const { LeasingStore } = await import("../stores/leases/leasing-store.js")
    this.#leasing = new LeasingStore(this.#store)
    this.#store = this.#leasing
    this.#loading = undefined
  }

  /** Loads the functions of concurrency with the first call that needs them. */
  async #openHolds(): Promise<Holds> {
    const { Holds } = await import("./holds.js")
    await this.#loading
    this.#holds ??= new Holds(this.#internals())
    return this.#holds
  }

  /** Loads the functions of reservations with the first call that needs them. */
  async #openReservations(): Promise<Reservations> {
    const { Reservations } = await import("./reservations.js")
    await this.#loading
    return new Reservations(this.#internals())
  }

  /** What holds and reservations need. */
  #internals(): HoldingLimiter {
    return {
      store: this.#store,
      leasing: this.#leasing,
      onStoreFailure: this.#onStoreFailure,
      charges: (key, options, id) =>
        this.#withBlock(key, limitCharges(this.#limits, key, options && checkOptionsOf(options), id)),
      decisionOf: (options, outcome) => this.#decisionOf(options && checkOptionsOf(options), outcome),
      acquireSync: (charge) => this.#acquireSync(charge),
      peek: (key) => this.peek(key),
      at: () => this.#at(undefined),
      now: () => this.#clock?.now() ?? performance.now(),
      openWaitQueue: () => this.#openWaitQueue(),
    }
  }

  /** Decides the charge of the only limit. Undefined if there are more, or if the store has to be waited for. */
  #acquireSync(charge: Charge): Decision | undefined {
    if (this.#only === undefined || this.#sync === undefined) return undefined
    const verdict = this.#sync.acquireOneSync(charge, this.#at(undefined))
    return decisionOfOne(this.#only.name, charge.policy, verdict, verdict)
  }

  #decisionOf(options: CheckOptions | undefined, outcome: Outcome): Decision {
    const { verdicts } = outcome
    const only = this.#only
    if (only !== undefined && verdicts.length === 1) {
      return decisionOfOne(only.name, policyFor(only, options), verdicts[0] as Verdict, outcome)
    }
    const limits = this.#limits.map((limit) => ({ name: limit.name, policy: policyFor(limit, options) }))
    return decisionOfMany(limits, verdicts, outcome)
  }

  /** The charges of a check: one per limit, and the block of the key if any key may be blocked. */
  #charges(key: string, options: CheckOptions | undefined): Charge[] {
    if (this.#mustAcquire && options?.cost !== 0)
      throw holdRequired("check", "call acquire, and release its hold")
    return this.#withBlock(key, limitCharges(this.#limits, key, options))
  }

  #withBlock(key: string, charges: Charge[]): Charge[] {
    if (this.#store.mayBlock(this.#blocks)) charges.push(blockCharge(this.#blocks, key))
    if (this.#hasPenalty) charges.push(...penaltyCharges(this.#limits, charges))
    return charges
  }

  /** The time of the request in microseconds, or undefined if the store's clock decides. */
  #at(options: CheckOptions | undefined): number | undefined {
    const ms = options?.at === undefined ? this.#clock?.now() : options.at
    return ms === undefined ? undefined : microsOf(ms)
  }
}

/** The options of an acquisition or a reservation that concern the check. */
function checkOptionsOf({ cost, limit, burst }: CheckOptions): CheckOptions {
  return { cost, limit, burst } as CheckOptions
}

function holdRequired(place: string, fix: string): SluiceError {
  return new SluiceError("HOLD_REQUIRED", {
    place,
    expected: `cannot release what it holds at a time; ${fix}`,
  })
}

function notSync(): SluiceError {
  return new SluiceError("STORE_NOT_SYNC", {
    place: "checkSync",
    expected: "needs the memory store; use check",
  })
}
