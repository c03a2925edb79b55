// Decides in the memory of this instance while the shared store fails: each key has this instance's share of its limit, and
// starts from the usage that the last shared decision showed.
//
// Local counters stay when the store is back, and expire by themselves. If the store fails again within the same window, a key
// starts from the larger of two counts: its share of the shared count, or its own earlier count. So a store that fails
// repeatedly lets through no more than one that fails once: at most the limit by the store, and the limit by the instances.

import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import { KeyHash } from "../memory/key-hash.js"
import { MemoryStore } from "../memory/memory-store.js"
import type { Charge, Outcome, Settled, Settlement } from "../store.js"
import { Namespace } from "../store.js"
import { LastUsage } from "./last-usage.js"
import { PolicyShares } from "./policy-share.js"

/**
 * Usage below one eighth of the capacity is not remembered. That leaves room for keys in heavy use, and lets at most that eighth
 * more through.
 */
const MIN_USAGE_DIVISOR = 8

export interface LocalFallbackOptions {
  /** How many keys' last usage is remembered. */
  readonly maxRemembered: number
  /** How many keys are counted at once. */
  readonly maxKeys: number
  /** When a request may try again that fits the whole limit but not this instance's share of it, in µs. */
  readonly retryAfter: number
  /** A clock that never steps, in milliseconds. */
  readonly now: () => number
}

/** The local copy of a namespace, with a hash that separates its keys from those of others. */
interface LocalNamespace {
  readonly shared: Namespace
  readonly namespace: Namespace
  readonly low: number
  readonly high: number
}

export class LocalFallback {
  readonly #now: () => number
  readonly #retryAfter: number
  readonly #store: MemoryStore
  readonly #lastUsage: LastUsage
  readonly #shares = new PolicyShares()
  readonly #hash = new KeyHash()
  /** Copies, because the shared store may have set its handle on the originals. */
  readonly #namespaces = new WeakMap<Namespace, LocalNamespace>()
  #lastLocal: LocalNamespace | undefined
  /** The hash of the charge that `#locate` was called with last. */
  #low = 0
  #high = 0
  /** The time of the last outcome by the store's clock, and by ours. */
  #storeTime = Number.NaN
  #heardAt = 0
  /**
   * How far the earliest explicit time was behind our clock, in ms. The clock of the local store is set back by it, so that the
   * counters of such calls do not expire too early.
   */
  #behind = 0

  constructor(options: LocalFallbackOptions) {
    this.#now = options.now
    this.#retryAfter = options.retryAfter
    this.#lastUsage = new LastUsage(options.maxRemembered)
    const clock = { now: () => options.now() + this.#behind }
    this.#store = new MemoryStore({ maxKeys: options.maxKeys, clock })
  }

  /** Remembers the usage that a shared decision shows for each key. Every check calls it: 0.1 µs for a key in heavy use. */
  remember(charges: readonly Charge[], outcome: Outcome, at: number | undefined): void {
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i] as Charge
      const verdict = outcome.verdicts[i] as Verdict
      const { policy } = charge
      if (isBlock(policy)) {
        this.#locate(charge)
        if (verdict.allowed) this.#lastUsage.take(this.#low, this.#high)
        else this.#lastUsage.put(this.#low, this.#high, verdict.retryAfter, at ?? this.#timeOf(outcome))
        continue
      }
      const units = policy.capacity - verdict.remaining
      if (units * MIN_USAGE_DIVISOR < policy.capacity) continue
      this.#locate(charge)
      const now = at ?? this.#timeOf(outcome)
      this.#lastUsage.put(this.#low, this.#high, units, timeCharged(policy, verdict, now))
    }
  }

  /** Remembers blocks that this instance has set. */
  rememberBlocks(charges: readonly Charge[], at: number | undefined): void {
    for (const charge of charges) {
      if (!isBlock(charge.policy) || charge.cost === 0) continue
      this.#locate(charge)
      this.#lastUsage.put(this.#low, this.#high, charge.cost, at ?? this.#micros())
    }
  }

  /** Subtracts what is no longer held from the usage that the last shared decision showed. */
  rememberRelease(charges: readonly Charge[]): void {
    for (const charge of charges) {
      this.#locate(charge)
      if (!this.#lastUsage.take(this.#low, this.#high)) continue
      const { units, time } = this.#lastUsage
      if (units > charge.cost) this.#lastUsage.put(this.#low, this.#high, units - charge.cost, time)
    }
  }

  async check(charges: readonly Charge[], at: number | undefined, instances: number): Promise<Outcome> {
    const now = this.#timeFor(at)
    const shares = await this.#open(charges, now, instances)
    return this.#degraded(charges, this.#store.checkSync(shares, now))
  }

  async decide(charges: readonly Charge[], at: number | undefined, instances: number): Promise<Outcome> {
    const now = this.#timeFor(at)
    const shares = await this.#open(charges, now, instances)
    return this.#degraded(charges, await this.#store.decide(shares, now))
  }

  async charge(charges: readonly Charge[], at: number | undefined, instances: number): Promise<void> {
    const now = this.#timeFor(at)
    await this.#store.charge(await this.#open(charges, now, instances), now)
  }

  async refund(charges: readonly Charge[], at: number | undefined, instances: number): Promise<void> {
    const now = this.#timeFor(at)
    await this.#store.refund(await this.#open(charges, now, instances), now)
  }

  async settle(
    settlements: readonly Settlement[],
    at: number | undefined,
    instances: number,
  ): Promise<Settled> {
    const now = this.#timeFor(at)
    const shares = await this.#open(settlements, now, instances)
    const own = shares.map((share, i) => ({ ...(settlements[i] as Settlement), ...share }))
    return await this.#store.settle(own, now)
  }

  async release(charges: readonly Charge[], at: number | undefined, instances: number): Promise<boolean> {
    return await this.#store.release(this.#heldIn(charges, instances), this.#timeFor(at))
  }

  async extend(charges: readonly Charge[], at: number | undefined, instances: number): Promise<boolean> {
    return await this.#store.extend(this.#heldIn(charges, instances), this.#timeFor(at))
  }

  /** The same holds on this instance's shares. */
  #heldIn(charges: readonly Charge[], instances: number): Charge[] {
    return charges.map((charge) => this.#localCharge(charge, this.#shares.of(charge.policy, instances)))
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    for (const charge of charges) {
      this.#locate(charge)
      this.#lastUsage.take(this.#low, this.#high)
    }
    await this.#store.reset(charges.map((charge) => this.#localCharge(charge, charge.policy)))
  }

  mayBlock(namespace: Namespace): boolean {
    return this.#store.mayBlock(namespace)
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** The same charges on this instance's shares. Charges the last known usage of their keys first. */
  async #open(charges: readonly Charge[], now: number, instances: number): Promise<Charge[]> {
    const shares: Charge[] = []
    for (const charge of charges) {
      const share = this.#localCharge(charge, this.#shares.of(charge.policy, instances))
      this.#locate(charge)
      const missing = this.#lastUsage.take(this.#low, this.#high)
        ? this.#missingUsage(share, now, instances)
        : undefined
      // The memory store charges before it returns its promise, so no other check comes in between.
      if (missing !== undefined)
        await this.#store.charge([{ ...share, cost: missing.cost, hold: undefined }], missing.time)
      shares.push(share)
    }
    return shares
  }

  /** How much of the usage that was taken last the local counter of the key does not have yet. */
  #missingUsage(share: Charge, now: number, instances: number): { cost: number; time: number } | undefined {
    const { units, time } = this.#lastUsage
    const { policy } = share
    const verdict = this.#store.checkSync([{ ...share, cost: 0 }], now).verdicts[0] as Verdict
    if (isBlock(policy)) {
      const left = units - (now - time)
      return left > verdict.retryAfter ? { cost: left, time: now } : undefined
    }
    const known = Math.min(Math.ceil(units / instances), policy.capacity)
    const cost = known - (policy.capacity - verdict.remaining)
    return cost > 0 ? { cost, time } : undefined
  }

  #degraded(charges: readonly Charge[], outcome: Outcome): Outcome {
    outcome.degraded = "local"
    outcome.verdicts.forEach((verdict, i) => {
      const { cost, policy } = charges[i] as Charge
      // The cost exceeds the share, not the limit, so it is allowed again when the store is back.
      if (verdict.retryAfter === Number.POSITIVE_INFINITY && cost <= policy.capacity)
        verdict.retryAfter = this.#retryAfter
    })
    return outcome
  }

  #localCharge(charge: Charge, policy: Policy): Charge {
    return {
      namespace: this.#localNamespace(charge.namespace).namespace,
      key: charge.key,
      policy,
      cost: charge.cost,
      chargedAt: charge.chargedAt,
      hold: charge.hold,
      penalizes: charge.penalizes,
    }
  }

  /** Sets `#low` and `#high` to the hash of a charge's namespace and key. */
  #locate(charge: Charge): void {
    const namespace = this.#localNamespace(charge.namespace)
    const hash = this.#hash
    if (charge.key !== hash.text) hash.hash(charge.key)
    // Only one side is multiplied, so that a key with the name of its namespace does not cancel it out.
    this.#low = (Math.imul(hash.low, 0x9e3779b1) + namespace.low) | 0
    this.#high = (Math.imul(hash.high, 0x85ebca6b) + namespace.high) | 0
  }

  #localNamespace(namespace: Namespace): LocalNamespace {
    if (this.#lastLocal?.shared === namespace) return this.#lastLocal
    let local = this.#namespaces.get(namespace)
    if (local === undefined) {
      this.#hash.hash(namespace.name)
      const { low, high } = this.#hash
      local = { shared: namespace, namespace: new Namespace(namespace.name, namespace.prefix), low, high }
      this.#namespaces.set(namespace, local)
    }
    this.#lastLocal = local
    return local
  }

  /** The local time of a shared outcome. Outcomes of one call have the same time, so the clock is read once for them. */
  #timeOf(outcome: Outcome): number {
    if (outcome.now !== this.#storeTime) {
      this.#storeTime = outcome.now
      this.#heardAt = this.#micros()
    }
    return this.#heardAt
  }

  #timeFor(at: number | undefined): number {
    if (at === undefined) return this.#micros()
    this.#behind = Math.min(this.#behind, at / 1000 - this.#now())
    return at
  }

  #micros(): number {
    return Math.round(this.#now() * 1000)
  }
}

/**
 * The time at which to charge remembered usage. Buckets and counters drain from now on. Logs, holds, and a window that starts with its
 * first request, end when the store said they would, so that a client that keeps asking is not denied for longer. Aligned windows
 * follow our clock, which may differ from the store's.
 */
function timeCharged(policy: Policy, verdict: Verdict, now: number): number {
  const known = policy.anchored || policy.algorithm.growing !== undefined
  return known ? now + verdict.resetAfter - policy.window : now
}
