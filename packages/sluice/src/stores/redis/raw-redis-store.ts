import { isBlock } from "../../algorithms/block.js"
import { microsOf } from "../../call-options.js"
import type { Clock } from "../../clock.js"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { SluiceError } from "../../errors.js"
import { checkOneOf, checkType, hasMethods } from "../../options.js"
import type { BreakerState } from "../fallback/breaker.js"
import type { Group, Place } from "../sharded/across.js"
import { allDone, checkAcross, decideAcross, groupCharges } from "../sharded/across.js"
import type { Charge, Check, Namespace, Outcome, Store } from "../store.js"
import { outcomeOfNothing } from "../store.js"
import { checkInWaves, planWaves } from "../waves.js"
import { Lane } from "./batcher.js"
import type { UserClient } from "./client.js"
import { connectionOf } from "./client.js"
import type { Operation } from "./codec.js"
import { CHARGE, CHECK, DECIDE, REFUND } from "./codec.js"
import { DenyCache } from "./deny-cache.js"
import { Fleets } from "./fleets.js"
import { encodeKey, storageKey } from "./keys.js"
import { keyslot } from "./keyslot.js"
import { warnOfServer } from "./server-warnings.js"

export interface ScriptedStoreOptions {
  /** How long a decision may take before the limiter decides without Redis. Default: 50 ms. */
  deadline?: Duration
  /** Whose clock counts: the Redis server's, one for every key, or each caller's. Default: `"store"`. */
  time?: "store" | "client"
  /** The caller's clock with `time: "client"`. */
  clock?: Clock
  /** How much longer than needed a key is kept. Default: 1 s. */
  expiryBuffer?: Duration
  /** The shortest time a key is kept. Default: 1 s. */
  minExpiry?: Duration
  /** Answers a denied key locally until its retry time, at most this long; `true` for 1 s. Default: off. */
  denyCache?: boolean | Duration
  /** How often this instance shows that it is alive. 0 for never: `instances` then stays 1. Default: 1 s. */
  heartbeat?: Duration
}

/** What a store may do with a client that is its own. */
export interface Ownership {
  /** Gives up the connection, as dead, and makes a new one. */
  abandon(): void
  close(): void
}

export const SCRIPTED_FIELDS = [
  "deadline",
  "time",
  "clock",
  "expiryBuffer",
  "minExpiry",
  "denyCache",
  "heartbeat",
]

/** Counters in Redis, kept by the script. Throws a `StoreFailure` when there is no answer in time: see `RedisStore`. */
export class ScriptedStore implements Store {
  readonly #lane: Lane
  readonly #isCluster: boolean
  readonly #clock: Clock | undefined
  readonly #denials: DenyCache | undefined
  readonly #fleets: Fleets
  readonly #ownership: Ownership | undefined
  #closed = false
  /** One slot, as checks over several see it. */
  readonly #place: Place = {
    decide: (charges, at) => this.#run(DECIDE, charges, at),
    check: (charges, at) => this.#run(CHECK, charges, at),
    refund: async (charges, at) => {
      await this.#run(REFUND, charges, at)
    },
  }

  constructor(client: UserClient, options: ScriptedStoreOptions, ownership?: Ownership) {
    this.#ownership = ownership
    checkOneOf(options.time, ["store", "client"], "redisStore.time")
    checkType(options.clock, "redisStore.clock", "a clock with now()", hasMethods("now"))
    const ms = (name: "deadline" | "expiryBuffer" | "minExpiry" | "heartbeat", otherwise: number) =>
      options[name] === undefined ? otherwise : parseDuration(options[name], `redisStore.${name}`)
    const connection = connectionOf(client)
    this.#isCluster = connection.isCluster
    this.#clock = options.time === "client" ? (options.clock ?? { now: () => Date.now() }) : undefined
    this.#lane = new Lane(connection, {
      deadlineMs: ms("deadline", 50),
      expiryBufferMs: Math.ceil(ms("expiryBuffer", 1_000)),
      leastExpiryMs: Math.max(1, Math.ceil(ms("minExpiry", 1_000))),
      onSilence: () => ownership?.abandon(),
    })
    this.#fleets = new Fleets(this.#lane, ms("heartbeat", 1_000), () => void warnOfServer(this.#lane))
    const { denyCache = false } = options
    if (denyCache !== false) {
      this.#denials = new DenyCache(
        denyCache === true ? 1_000 : parseDuration(denyCache, "redisStore.denyCache"),
      )
    }
  }

  get instances(): number {
    return this.#fleets.instances
  }

  /** The state of each breaker: one for a server, one for every sixteenth of a Cluster's slots. */
  get breakers(): BreakerState[] {
    return this.#lane.breakers.map((breaker) => breaker.state)
  }

  check(charges: readonly Charge[], at?: number): Promise<Outcome> {
    const denials = at === undefined ? this.#denials : undefined
    return denials === undefined ? this.#check(charges, at) : this.#checkCached(denials, charges)
  }

  async #checkCached(denials: DenyCache, charges: readonly Charge[]): Promise<Outcome> {
    this.#start(charges)
    const name = charges.map(nameOfDenial).join("\n")
    const known = denials.get(name)
    if (known !== undefined) return known
    const outcome = await this.#check(charges, undefined)
    denials.put(name, outcome)
    return outcome
  }

  #check(charges: readonly Charge[], at: number | undefined): Promise<Outcome> {
    const groups = this.#groups(charges)
    if (groups === undefined) return this.#run(CHECK, charges, at)
    return checkAcross(groups, at)
  }

  async decide(charges: readonly Charge[], at?: number): Promise<Outcome> {
    const groups = this.#groups(charges)
    return groups === undefined ? await this.#run(DECIDE, charges, at) : await decideAcross(groups, at)
  }

  checkMany(checks: readonly Check[]): Promise<Outcome[]> {
    return checkInWaves(checks, this.wavesOf(checks), (check) => this.check(check.charges, check.at))
  }

  /** A check over several slots of a Cluster takes two round trips, and others on its keys must not pass it. */
  wavesOf(checks: readonly Check[]): readonly (readonly number[])[] | undefined {
    if (!checks.some(({ charges }) => this.#groups(charges) !== undefined)) return undefined
    const waves = planWaves(checks, (key) => keyslot(`{${encodeKey(key)}}`))
    return waves.map(({ alone, across }) => [...alone.values(), across].flat().sort((a, b) => a - b))
  }

  async charge(charges: readonly Charge[], at?: number): Promise<void> {
    await this.#each(CHARGE, charges, at)
    const blocks = charges.filter(({ policy, cost }) => isBlock(policy) && cost > 0)
    await Promise.all(
      blocks.map(({ namespace, cost }) => this.#fleets.of(namespace).announceBlock(cost / 1000)),
    )
  }

  async refund(charges: readonly Charge[], at?: number): Promise<void> {
    await this.#each(REFUND, charges, at)
    // Afterwards: a denial from before may have been learnt meanwhile.
    this.#denials?.clear()
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    this.#start(charges)
    const keys = charges.map(storageKey)
    await Promise.all(keys.map((key) => this.#lane.command(key, ["UNLINK", key])))
    this.#denials?.clear()
  }

  mayBlock(namespace: Namespace): boolean {
    return this.#fleets.of(namespace).anyBlocks
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#fleets.stop()
    this.#lane.close()
    this.#ownership?.close()
  }

  #run(operation: Operation, charges: readonly Charge[], at: number | undefined): Promise<Outcome> {
    this.#start(charges)
    const time = at ?? (this.#clock === undefined ? undefined : microsOf(this.#clock.now()))
    if (charges.length === 0) return Promise.resolve(outcomeOfNothing(time ?? Date.now() * 1000))
    // A list of one, as nearly all are, is quicker made than mapped.
    const keys = charges.length === 1 ? [storageKey(charges[0] as Charge)] : charges.map(storageKey)
    return this.#lane.submit(operation, charges, keys, time)
  }

  /** The charges by slot of a Cluster, when they live in several. A script may touch one slot only. */
  #groups(charges: readonly Charge[]): Group[] | undefined {
    if (!this.#isCluster || charges.every((charge) => charge.key === charges[0]?.key)) return undefined
    const groups = groupCharges(charges, (charge) => keyslot(storageKey(charge)))
    return groups.map((group) => ({ ...group, place: this.#place }))
  }

  async #each(operation: Operation, charges: readonly Charge[], at: number | undefined): Promise<void> {
    const groups = this.#groups(charges) ?? [{ charges }]
    await allDone(groups.map((group) => this.#run(operation, group.charges, at)))
  }

  #start(charges: readonly Charge[]): void {
    if (this.#closed) throw new SluiceError("STORE_CLOSED", { place: "redisStore", expected: "was closed" })
    const first = charges[0]
    if (first !== undefined) this.#fleets.of(first.namespace).start()
  }
}

/** What a denial is remembered by: another cost or another limit on the same key is another question. */
function nameOfDenial(charge: Charge): string {
  const { limit, capacity, window } = charge.policy
  return `${storageKey(charge)} ${charge.cost} ${limit} ${capacity} ${window}`
}
