// Wraps a store that may fail: a decision always comes back, and it says how it was made.
//
// Time: local counters decide calls without `at` by a clock that never steps, and calls with `at` at that time. Both kinds may
// meet on one key. Its counters then follow the rule of every store that time never runs backwards for a key, and the last usage
// of a key carries the time of its last shared decision, `at` or the local clock.

import type { Verdict } from "../../algorithms/algorithm.js"
import { SluiceError } from "../../errors.js"
import { messageOf, notify } from "../../notify.js"
import type {
  BlockedKeys,
  Charge,
  Check,
  Degraded,
  Namespace,
  Outcome,
  Settled,
  Settlement,
  Store,
  Usage,
} from "../store.js"
import { checkInWaves } from "../waves.js"
import { allowedOutcome, deniedOutcome } from "./canned-outcomes.js"
import { LocalFallback } from "./local-fallback.js"
import type { FailureKind } from "./store-failure.js"
import { StoreFailure } from "./store-failure.js"
import { monotonicNow } from "./timers.js"

/** How to decide when the store cannot: allow or deny everything, or count this instance's share of the limit (`local`). */
export type OnStoreFailure = Degraded

export type StoreOperation =
  | "check"
  | "decide"
  | "charge"
  | "refund"
  | "settle"
  | "release"
  | "extend"
  | "reset"

export interface StoreFailureEvent {
  readonly operation: StoreOperation
  readonly failure: StoreFailure
  /** What was done instead. `dropped`: a charge, refund, release or reset that no local counter took. */
  readonly instead: Degraded | "dropped"
}

export interface GuardedCheck extends Check {
  readonly onStoreFailure?: OnStoreFailure | undefined
}

export interface StoreGuardOptions {
  /** For calls that pass none. Default: `"local"`. */
  onStoreFailure?: OnStoreFailure
  /** How many keys' last usage is remembered, to start from when the store fails. Default: 10,000, about 0.4 MB. */
  maxRemembered?: number
  /** How many keys are counted locally while the store fails. Default: 1,000,000. */
  maxKeys?: number
  /** The `retryAfterMs` of a denial that ends only when the store is back. Default: 1,000. */
  retryAfterMs?: number
  /** Called for every call that the store did not answer, also for calls that the breaker refused. */
  onFailure?: (event: StoreFailureEvent) => void
  /** A clock that never steps, in milliseconds since 1970. Default: the system's monotonic clock. */
  clock?: { now(): number }
}

export interface StoreGuardStats {
  /** Calls that the store did not answer, by reason. */
  readonly failures: Readonly<Partial<Record<FailureKind, number>>>
  /** Decisions made without the store, by kind. */
  readonly degraded: Readonly<Record<Degraded, number>>
  /** Failures after which it is unknown whether the store made the charge. */
  readonly ambiguous: number
  /** Charges, refunds and resets that no local counter took. */
  readonly dropped: number
}

export class StoreGuard implements Store {
  readonly #store: Store
  readonly #local: LocalFallback
  readonly #onStoreFailure: OnStoreFailure
  readonly #retryAfter: number
  readonly #onFailure: ((event: StoreFailureEvent) => void) | undefined
  readonly #now: () => number
  readonly #failures: Partial<Record<FailureKind, number>> = {}
  readonly #degraded: Record<Degraded, number> = { allow: 0, deny: 0, local: 0 }
  #ambiguous = 0
  #dropped = 0
  #underWay = 0
  #onIdle: (() => void) | undefined

  constructor(store: Store, options: StoreGuardOptions = {}) {
    const { clock } = options
    this.#store = store
    this.#onStoreFailure = options.onStoreFailure ?? "local"
    this.#retryAfter = Math.ceil((options.retryAfterMs ?? 1_000) * 1000)
    this.#onFailure = options.onFailure
    this.#now = clock === undefined ? monotonicNow : () => clock.now()
    this.#local = new LocalFallback({
      maxRemembered: options.maxRemembered ?? 10_000,
      maxKeys: options.maxKeys ?? 1_000_000,
      retryAfter: this.#retryAfter,
      now: this.#now,
    })
  }

  get stats(): StoreGuardStats {
    return {
      failures: { ...this.#failures },
      degraded: { ...this.#degraded },
      ambiguous: this.#ambiguous,
      dropped: this.#dropped,
    }
  }

  get instances(): number {
    const { instances = 1 } = this.#store
    return instances >= 1 ? Math.floor(instances) : 1
  }

  async check(
    charges: readonly Charge[],
    at?: number,
    onStoreFailure = this.#onStoreFailure,
  ): Promise<Outcome> {
    let outcome: Outcome
    this.#underWay++
    try {
      outcome = await this.#store.check(charges, at)
    } catch (error) {
      return await this.#instead("check", error, charges, at, onStoreFailure)
    } finally {
      if (--this.#underWay === 0) this.#onIdle?.()
    }
    if (onStoreFailure === "local") this.#remember(charges, outcome, at)
    return outcome
  }

  async decide(
    charges: readonly Charge[],
    at?: number,
    onStoreFailure = this.#onStoreFailure,
  ): Promise<Outcome> {
    let outcome: Outcome
    try {
      outcome = await this.#store.decide(charges, at)
    } catch (error) {
      return await this.#instead("decide", error, charges, at, onStoreFailure)
    }
    if (onStoreFailure === "local") this.#remember(charges, outcome, at)
    return outcome
  }

  wavesOf(checks: readonly Check[]): readonly (readonly number[])[] | undefined {
    return this.#store.wavesOf?.(checks)
  }

  /**
   * Hands the store the checks one by one, because each may fail by itself: of several servers, a dead one degrades only its own
   * checks. A store that sends the checks of one tick in one call loses nothing by it.
   */
  checkMany(checks: readonly GuardedCheck[], onStoreFailure = this.#onStoreFailure): Promise<Outcome[]> {
    return checkInWaves(checks, this.#store.wavesOf?.(checks), (check) =>
      this.check(check.charges, check.at, check.onStoreFailure ?? onStoreFailure),
    )
  }

  async charge(
    charges: readonly Charge[],
    at?: number,
    onStoreFailure = this.#onStoreFailure,
  ): Promise<void> {
    try {
      await this.#store.charge(charges, at)
    } catch (error) {
      if (this.#isLocal("charge", error, onStoreFailure))
        await this.#local.charge(charges, at, this.instances)
      return
    }
    if (onStoreFailure === "local") this.#local.rememberBlocks(charges, at)
  }

  async refund(
    charges: readonly Charge[],
    at?: number,
    onStoreFailure = this.#onStoreFailure,
  ): Promise<void> {
    try {
      await this.#store.refund(charges, at)
    } catch (error) {
      if (this.#isLocal("refund", error, onStoreFailure))
        await this.#local.refund(charges, at, this.instances)
    }
  }

  /** What local counters were charged, they correct themselves. A hold that the store does not know may be theirs. */
  async settle(
    settlements: readonly Settlement[],
    at?: number,
    onStoreFailure = this.#onStoreFailure,
  ): Promise<Settled> {
    const settleLocally = () => this.#local.settle(settlements, at, this.instances)
    if (settlements.some(({ isLocal }) => isLocal)) return await settleLocally()
    try {
      const settled = await this.#store.settle(settlements, at)
      return settled.result === "unknown" ? await settleLocally() : settled
    } catch (error) {
      const isLocal = this.#isLocal("settle", error, strictest(settlements, onStoreFailure))
      const settled = isLocal ? await settleLocally() : undefined
      if (settled?.result === "settled") return settled
      return { result: "failed", now: settled?.now ?? Math.round(this.#now() * 1000) }
    }
  }

  async release(
    charges: readonly Charge[],
    at?: number,
    onStoreFailure = this.#onStoreFailure,
  ): Promise<boolean> {
    return await this.#onHolds("release", charges, at, onStoreFailure)
  }

  async extend(
    charges: readonly Charge[],
    at?: number,
    onStoreFailure = this.#onStoreFailure,
  ): Promise<boolean> {
    return await this.#onHolds("extend", charges, at, onStoreFailure)
  }

  /** A hold that the store does not have may have been acquired from the local counters, while the store failed. */
  async #onHolds(
    operation: "release" | "extend",
    charges: readonly Charge[],
    at: number | undefined,
    onStoreFailure: OnStoreFailure,
  ): Promise<boolean> {
    if (operation === "release") this.#local.rememberRelease(charges)
    try {
      if (await this.#store[operation]?.(charges, at)) return true
    } catch (error) {
      if (!this.#isLocal(operation, error, onStoreFailure)) return false
    }
    return await this.#local[operation](charges, at, this.instances)
  }

  async reset(charges: readonly Charge[], onStoreFailure = this.#onStoreFailure): Promise<void> {
    try {
      await this.#store.reset(charges)
    } catch (error) {
      if (!this.#isLocal("reset", error, onStoreFailure)) return
    }
    // Forget the last usage of the key, so that it does not count when the store fails later.
    await this.#local.reset(charges)
  }

  /** Undefined while the store fails: the local counters hold a share of the limit, which would be misread as the whole. */
  async usage(charges: readonly Charge[], at?: number): Promise<readonly Usage[] | undefined> {
    try {
      return await this.#store.usage?.(charges, at)
    } catch (error) {
      if (error instanceof StoreFailure) return undefined
      throw error
    }
  }

  /** Undefined while the store fails. */
  async blocked(prefix: string, max: number, at?: number): Promise<BlockedKeys | undefined> {
    try {
      return await this.#store.blocked?.(prefix, max, at)
    } catch (error) {
      if (error instanceof StoreFailure) return undefined
      throw error
    }
  }

  mayBlock(namespace: Namespace): boolean {
    return this.#store.mayBlock(namespace) || this.#local.mayBlock(namespace)
  }

  async close(): Promise<void> {
    try {
      await this.#store.close()
    } finally {
      // Checks in flight still get their answer, if necessary from the local counters.
      if (this.#underWay > 0) await this.#idle()
      await this.#local.close()
    }
  }

  #remember(charges: readonly Charge[], outcome: Outcome, at: number | undefined): void {
    if (outcome.degraded === undefined) this.#local.remember(charges, outcome, at)
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve
    })
  }

  #instead(
    operation: "check" | "decide",
    error: unknown,
    charges: readonly Charge[],
    at: number | undefined,
    onStoreFailure: OnStoreFailure,
  ): Promise<Outcome> | Outcome {
    const way = strictest(charges, onStoreFailure)
    this.#count(operation, error, way)
    this.#degraded[way]++
    if (charges.some((charge) => (charge.onStoreFailure ?? onStoreFailure) !== way))
      return this.#mixed(operation, charges, at, onStoreFailure)
    if (way === "local") return this.#local[operation](charges, at, this.instances)
    const now = at ?? Math.round(this.#now() * 1000)
    return way === "allow" ? allowedOutcome(charges, now) : deniedOutcome(charges, now, this.#retryAfter)
  }

  /** Decides charges whose rules differ in `onStoreFailure`: each in its own way, and still all or none. */
  async #mixed(
    operation: "check" | "decide",
    charges: readonly Charge[],
    at: number | undefined,
    onStoreFailure: OnStoreFailure,
  ): Promise<Outcome> {
    const now = at ?? Math.round(this.#now() * 1000)
    const ways = charges.map((charge) => charge.onStoreFailure ?? onStoreFailure)
    const of = (way: Degraded) => charges.filter((_, i) => ways[i] === way)
    const allow = allowedOutcome(of("allow"), now).verdicts
    const deny = deniedOutcome(of("deny"), now, this.#retryAfter).verdicts
    const passes = [...allow, ...deny].every((verdict) => verdict.allowed)
    // Local counters charge nothing if another charge denies the request.
    const local = await this.#local[passes ? operation : "decide"](of("local"), at, this.instances)
    const decided = { allow: [...allow], deny: [...deny], local: [...local.verdicts] }
    const verdicts = ways.map((way) => decided[way].shift() as Verdict)
    const degraded = strictest(charges, onStoreFailure)
    return { allowed: passes && local.allowed, now: local.now, verdicts, degraded }
  }

  /** Whether the local counters take a call that the store could not. If not, the call is counted as dropped. */
  #isLocal(operation: StoreOperation, error: unknown, onStoreFailure: OnStoreFailure): boolean {
    const isLocal = onStoreFailure === "local"
    this.#count(operation, error, isLocal ? "local" : "dropped")
    if (!isLocal) this.#dropped++
    return isLocal
  }

  #count(operation: StoreOperation, error: unknown, instead: Degraded | "dropped"): void {
    // A mistake by the caller is not a failure of the store.
    if (error instanceof SluiceError) throw error
    const failure = error instanceof StoreFailure ? error : unexpected(error)
    this.#failures[failure.kind] = (this.#failures[failure.kind] ?? 0) + 1
    if (failure.ambiguous) this.#ambiguous++
    notify(this.#onFailure, { operation, failure, instead })
  }
}

/** Of the ways in which charges fail, the one that lets the least through. */
function strictest(charges: readonly Charge[], otherwise: OnStoreFailure): OnStoreFailure {
  let way: OnStoreFailure | undefined
  for (const charge of charges) {
    const own = charge.onStoreFailure ?? otherwise
    if (own === "deny") return own
    if (way === undefined || own === "local") way = own
  }
  return way ?? otherwise
}

function unexpected(cause: unknown): StoreFailure {
  return new StoreFailure("other", messageOf(cause), { ambiguous: true, cause })
}
