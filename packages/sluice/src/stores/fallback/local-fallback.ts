// The limiter of this instance alone, for the time the shared store cannot be asked: its share of every limit, starting
// from what the last shared decisions said.
//
// Local counters are kept when the store is back; they fade by themselves. Should the store fail again within the same
// window, a key starts with whichever is more, its share of the shared count or its own count of before. So a store that
// comes and goes costs no more than one that went once: at most the limit by the store and the limit by the instances.

import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import { KeyHash } from "../memory/key-hash.js"
import { MemoryStore } from "../memory/memory-store.js"
import type { Charge, Outcome } from "../store.js"
import { Namespace } from "../store.js"
import { Seeds } from "./last-usage.js"
import { Shares } from "./policy-share.js"

/**
 * A key of which less than an eighth is used is not worth a seed: it makes room for those in heavy use, and lets at most
 * that eighth more through. An older seed of it fades as its count has.
 */
const LEAST_SEED = 8

export interface LocalFallbackOptions {
  /** Keys whose last shared decision is remembered. */
  readonly mostSeeds: number
  /** Keys counted at once. */
  readonly mostKeys: number
  /** Told to a request that fits the whole limit but not this instance's share of it, in µs. */
  readonly retryAfter: number
  /** A clock that never steps, in ms. */
  readonly now: () => number
}

/** The local twin of a namespace, with a hash that tells its keys from those of others. */
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
  readonly #seeds: Seeds
  readonly #shares = new Shares()
  readonly #hash = new KeyHash()
  /** Namespaces of its own: the shared store may keep its handle on the others. */
  readonly #namespaces = new WeakMap<Namespace, LocalNamespace>()
  #lastLocal: LocalNamespace | undefined
  /** Where the charge located last is. */
  #low = 0
  #high = 0
  /** The store's time of the last outcome, and when that was here. */
  #storeTime = Number.NaN
  #heardAt = 0
  /** How far the earliest explicit time lay behind the clock, in ms: counters are not tidied away before their time. */
  #behind = 0

  constructor(options: LocalFallbackOptions) {
    this.#now = options.now
    this.#retryAfter = options.retryAfter
    this.#seeds = new Seeds(options.mostSeeds)
    const clock = { now: () => options.now() + this.#behind }
    this.#store = new MemoryStore({ maxKeys: options.mostKeys, clock })
  }

  /** Notes what a shared decision says of each key. On the path of every check: 0.1 µs for a key in heavy use, else none. */
  remember(charges: readonly Charge[], outcome: Outcome, at: number | undefined): void {
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i] as Charge
      const verdict = outcome.verdicts[i] as Verdict
      const { policy } = charge
      if (isBlock(policy)) {
        this.#locate(charge)
        if (verdict.allowed) this.#seeds.take(this.#low, this.#high)
        else this.#seeds.put(this.#low, this.#high, verdict.retryAfter, at ?? this.#timeOf(outcome))
        continue
      }
      const units = policy.capacity - verdict.remaining
      if (units * LEAST_SEED < policy.capacity) continue
      this.#locate(charge)
      const now = at ?? this.#timeOf(outcome)
      this.#seeds.put(this.#low, this.#high, units, timeCharged(policy, verdict, now))
    }
  }

  /** Notes blocks that this instance has set. */
  rememberBlocks(charges: readonly Charge[], at: number | undefined): void {
    for (const charge of charges) {
      if (!isBlock(charge.policy) || charge.cost === 0) continue
      this.#locate(charge)
      this.#seeds.put(this.#low, this.#high, charge.cost, at ?? this.#micros())
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

  async reset(charges: readonly Charge[]): Promise<void> {
    for (const charge of charges) {
      this.#locate(charge)
      this.#seeds.take(this.#low, this.#high)
    }
    await this.#store.reset(charges.map((charge) => this.#twin(charge, charge.policy)))
  }

  mayBlock(namespace: Namespace): boolean {
    return this.#store.mayBlock(namespace)
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** The same charges on this instance's share, with what is known of their keys charged. */
  async #open(charges: readonly Charge[], now: number, instances: number): Promise<Charge[]> {
    const shares: Charge[] = []
    for (const charge of charges) {
      const share = this.#twin(charge, this.#shares.of(charge.policy, instances))
      this.#locate(charge)
      const seed = this.#seeds.take(this.#low, this.#high) ? this.#seedFor(share, now, instances) : undefined
      // The charge is made before this waits: no other check comes in between.
      if (seed !== undefined) await this.#store.charge([{ ...share, cost: seed.cost }], seed.time)
      shares.push(share)
    }
    return shares
  }

  /** What of the seed just taken is to be charged: as much as the key does not have on its own. */
  #seedFor(share: Charge, now: number, instances: number): { cost: number; time: number } | undefined {
    const { units, time } = this.#seeds
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
      // Too much for the share is not too much for ever: the store may soon be back.
      if (verdict.retryAfter === Number.POSITIVE_INFINITY && cost <= policy.capacity)
        verdict.retryAfter = this.#retryAfter
    })
    return outcome
  }

  #twin(charge: Charge, policy: Policy): Charge {
    return {
      namespace: this.#localNamespace(charge.namespace).namespace,
      key: charge.key,
      policy,
      cost: charge.cost,
    }
  }

  /** Leaves the hash of a charge's namespace and key in `low` and `high`. */
  #locate(charge: Charge): void {
    const namespace = this.#localNamespace(charge.namespace)
    const hash = this.#hash
    if (charge.key !== hash.text) hash.hash(charge.key)
    // A product on one side only: a key named like its namespace must not cancel out.
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

  /** The local time of a shared outcome. The outcomes of one call share theirs, and the clock is read once for them. */
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
 * The time to charge them at. Buckets and counters drain from now on. A log, and a window that starts with its first
 * request, end when they said they would: a client that keeps asking while denied must not be held any longer. Windows
 * aligned to the clock are taken by our own, which may not agree with the store's on where they begin.
 */
function timeCharged(policy: Policy, verdict: Verdict, now: number): number {
  const known = policy.anchored || policy.algorithm.name === "sliding-window-log"
  return known ? now + verdict.resetAfter - policy.window : now
}
