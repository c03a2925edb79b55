import { isBlock } from "../../algorithms/block.js"
import { microsOf } from "../../call-options.js"
import type { Clock } from "../../clock.js"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { SluiceError } from "../../errors.js"
import { checkFields, checkOneOf, checkType, hasMethods } from "../../options.js"
import type { BreakerState, BreakerThresholds } from "../fallback/breaker.js"
import type { StoreFailureEvent } from "../fallback/store-guard.js"
import { StoreGuard } from "../fallback/store-guard.js"
import { type HoldId, holdIdText } from "../hold-id.js"
import type { Group, Place } from "../sharded/across.js"
import { allDone, checkAcross, decideAcross, groupCharges, settleAcross } from "../sharded/across.js"
import type {
  BlockedKeys,
  Charge,
  Check,
  Namespace,
  Outcome,
  Settled,
  Settlement,
  Store,
  Usage,
} from "../store.js"
import { outcomeOfNothing } from "../store.js"
import { checkInWaves, indexWaves } from "../waves.js"
import { Batcher } from "./batcher.js"
import { blockedInRedis, listBegun, listBlock, unlistBlock } from "./block-list.js"
import type { UserClient } from "./client.js"
import { connectionOf } from "./client.js"
import type { Operation, Request } from "./codec.js"
import { CHARGE, CHECK, DECIDE, EXTEND, REFUND, RELEASE, SETTLE } from "./codec.js"
import { DenyCache } from "./deny-cache.js"
import { Fleets } from "./fleet.js"
import { encodeKey, keyslot, storageKey } from "./keys.js"
import { warnAboutServer } from "./server-warnings.js"
import { usageInRedis } from "./usage.js"

export interface RawRedisStoreOptions {
  /** How long a check waits for Redis before the limiter decides without it. Default: 50 ms. */
  deadline?: Duration
  /** Which clock decides: that of the Redis server, or that of each caller. Default: `"store"`. */
  time?: "store" | "client"
  /** The caller's clock with `time: "client"`. */
  clock?: Clock
  /** How much longer than needed a key is kept. Default: 1 s. */
  expiryBuffer?: Duration
  /** The shortest time a key is kept. Default: 1 s. */
  minExpiry?: Duration
  /** Answers a denied key locally until its retry time, at most this long; `true` for 1 s. Default: off. */
  denyCache?: boolean | Duration
  /** How often this instance tells Redis that it is alive. 0 for never: `instances` then stays 1. Default: 1 s. */
  heartbeat?: Duration
  /** When the store stops calling a server that does not answer. */
  breaker?: BreakerSettings
}

/** When the breaker of a server opens, and how often it probes the server while it is open. */
export interface BreakerSettings {
  /** How many failures in a row open the breaker. Refused connections open it after at most 2. Default: 3. */
  failures?: number
  /** The share of failures among the last 20 calls that opens the breaker. Default: 0.5. */
  failureRate?: number
  /** The longest pause between two probes. It grows to five times that while probes fail. Default: 100 ms. */
  probeEvery?: Duration
}

/** The options of `redisStore`. */
export const REDIS_STORE_FIELDS = [
  "deadline",
  "time",
  "clock",
  "expiryBuffer",
  "minExpiry",
  "denyCache",
  "heartbeat",
  "breaker",
  "onFailure",
]

export interface RedisStoreOptions extends RawRedisStoreOptions {
  /** Called for every call that Redis did not answer, with what the store did instead. */
  onFailure?: (event: StoreFailureEvent) => void
}

/**
 * Counters in Redis, shared by a fleet. The client is yours: ioredis or node-redis, single, Sentinel or Cluster; the store
 * does not close it. When Redis does not answer, each limiter's `onStoreFailure` decides.
 */
export function redisStore(client: UserClient, options: RedisStoreOptions = {}): RedisStore {
  return new RedisStore(client, options)
}

export class RedisStore extends StoreGuard {
  readonly #raw: RawRedisStore

  /** Calls `onClose` when the store is closed. */
  constructor(client: UserClient, options: RedisStoreOptions, onClose?: () => void) {
    checkFields(options, REDIS_STORE_FIELDS, "redisStore")
    checkType(options.onFailure, "redisStore.onFailure", "a function", (value) => typeof value === "function")
    const raw = new RawRedisStore(client, options, onClose)
    super(raw, options.onFailure === undefined ? {} : { onFailure: options.onFailure })
    this.#raw = raw
  }

  /**
   * The state of each breaker: `closed` when calls reach the server, `open` when they do not, `half-open` when a few do to
   * test it. A server has one breaker, a Cluster one for every sixteenth of its slots.
   */
  get breakers(): BreakerState[] {
    return this.#raw.breakers
  }
}

/**
 * Counters in Redis, without the guard that `RedisStore` puts around it: throws a `StoreFailure` when Redis does not answer
 * within the deadline.
 */
export class RawRedisStore implements Store {
  readonly #batcher: Batcher
  readonly #isCluster: boolean
  readonly #clock: Clock | undefined
  readonly #denials: DenyCache | undefined
  readonly #fleets: Fleets
  readonly #onClose: (() => void) | undefined
  #isClosed = false
  /** Decides the charges of one slot, for a check over several slots of a Cluster. */
  readonly #place: Place = {
    decide: (charges, at) => this.#run(DECIDE, charges, at),
    check: (charges, at) => this.#run(CHECK, charges, at),
    refund: async (charges, at) => {
      await this.#run(REFUND, charges, at)
    },
  }

  constructor(client: UserClient, options: RawRedisStoreOptions, onClose?: () => void) {
    this.#onClose = onClose
    checkOneOf(options.time, ["store", "client"], "redisStore.time")
    checkType(options.clock, "redisStore.clock", "a clock with now()", hasMethods("now"))
    const ms = (name: "deadline" | "expiryBuffer" | "minExpiry" | "heartbeat", otherwise: number) =>
      options[name] === undefined ? otherwise : parseDuration(options[name], `redisStore.${name}`)
    const connection = connectionOf(client)
    this.#isCluster = connection.isCluster
    this.#clock = options.time === "client" ? (options.clock ?? { now: () => Date.now() }) : undefined
    this.#batcher = new Batcher(connection, {
      deadlineMs: ms("deadline", 50),
      expiry: {
        bufferMs: Math.ceil(ms("expiryBuffer", 1_000)),
        minMs: Math.max(1, Math.ceil(ms("minExpiry", 1_000))),
      },
      breaker: thresholdsOf(options.breaker ?? {}),
    })
    this.#fleets = new Fleets(
      this.#batcher,
      ms("heartbeat", 1_000),
      () => void warnAboutServer(this.#batcher),
    )
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
    return this.#batcher.breakers.map((breaker) => breaker.state)
  }

  check(charges: readonly Charge[], at?: number): Promise<Outcome> {
    const denials = this.#denials
    // A penalty counts every denial, so the server must see each of them.
    if (charges.length > 1 && charges.some(({ penalizes }) => penalizes !== undefined))
      return this.#checkPenalized(charges, at)
    if (denials === undefined || at !== undefined) return this.#check(charges, at)
    return this.#checkCached(denials, charges)
  }

  async #checkPenalized(charges: readonly Charge[], at: number | undefined): Promise<Outcome> {
    const outcome = await this.#check(charges, at)
    // Nobody waits for the list.
    if (outcome.begun !== undefined) listBegun(this.#batcher, charges, outcome)
    return outcome
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

  /** A check over several slots of a Cluster takes two round trips. Checks on the same keys wait for it. */
  wavesOf(checks: readonly Check[]): readonly (readonly number[])[] | undefined {
    return this.#isCluster ? indexWaves(checks, (key) => keyslot(`{${encodeKey(key)}}`)) : undefined
  }

  async charge(charges: readonly Charge[], at?: number): Promise<void> {
    await this.#each(CHARGE, charges, at)
    const blocks = charges.filter(({ policy, cost }) => isBlock(policy) && cost > 0)
    await Promise.all(
      blocks.flatMap((block) => [
        this.#fleets.of(block.namespace).announceBlock(block.cost / 1000),
        listBlock(this.#batcher, block, block.cost / 1000),
      ]),
    )
  }

  async refund(charges: readonly Charge[], at?: number): Promise<void> {
    await this.#each(REFUND, charges, at)
    // After the refund: a check that was denied before it may have been cached meanwhile.
    this.#denials?.clear()
  }

  async settle(settlements: readonly Settlement[], at?: number): Promise<Settled> {
    const groups: readonly Pick<Group, "charges">[] = this.#groups(settlements) ?? [{ charges: settlements }]
    const settled = await settleAcross(groups, async ({ charges }) => {
      const { allowed, now } = await this.#run(SETTLE, charges, at)
      return { result: allowed ? "settled" : "unknown", now }
    })
    this.#denials?.clear()
    return settled
  }

  async release(charges: readonly Charge[], at?: number): Promise<boolean> {
    // A hold of one unit is one member of a sorted set: to remove it needs no script.
    const isPlain = at === undefined && charges.every(({ cost, hold }) => cost === 1 && hold !== undefined)
    const released = isPlain ? await this.#remove(charges) : await this.#onHolds(RELEASE, charges, at)
    this.#denials?.clear()
    return released
  }

  async extend(charges: readonly Charge[], at?: number): Promise<boolean> {
    return await this.#onHolds(EXTEND, charges, at)
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    this.#start(charges)
    const keys = charges.map(storageKey)
    const blocks = charges.filter(({ policy }) => isBlock(policy))
    await Promise.all([
      ...keys.map((key) => this.#batcher.command(key, ["UNLINK", key])),
      ...blocks.map((block) => unlistBlock(this.#batcher, block)),
    ])
    this.#denials?.clear()
  }

  async usage(charges: readonly Charge[], at?: number): Promise<Usage[]> {
    this.#start(charges)
    const read = async (charge: Charge, time?: number) => {
      let state: Float64Array = new Float64Array(0)
      const { now } = await this.#run(DECIDE, [charge], time ?? at, (cells) => {
        state = cells
      })
      return { state, now }
    }
    return await Promise.all(charges.map((charge) => usageInRedis(charge, read)))
  }

  async blocked(prefix: string, max: number, at?: number): Promise<BlockedKeys> {
    this.#start([])
    return await blockedInRedis(this.#batcher, prefix, max, (charges) => this.usage(charges, at))
  }

  mayBlock(namespace: Namespace): boolean {
    return this.#fleets.of(namespace).anyBlocks
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#fleets.stop()
    this.#batcher.close()
    this.#onClose?.()
  }

  #run(
    operation: Operation,
    charges: readonly Charge[],
    at: number | undefined,
    onState?: Request["onState"],
  ): Promise<Outcome> {
    this.#start(charges)
    const time = at ?? (this.#clock === undefined ? undefined : microsOf(this.#clock.now()))
    if (charges.length === 0) return Promise.resolve(outcomeOfNothing(time ?? Date.now() * 1000))
    return this.#batcher.submit(operation, charges, charges.map(storageKey), time, onState)
  }

  /** The charges by slot of a Cluster, when they are in several slots: a script may touch one slot only. */
  #groups(charges: readonly Charge[]): Group[] | undefined {
    if (!this.#isCluster || charges.every((charge) => charge.key === charges[0]?.key)) return undefined
    const groups = groupCharges(charges, (charge) => keyslot(storageKey(charge)))
    return groups.map((group) => ({ ...group, place: this.#place }))
  }

  async #each(operation: Operation, charges: readonly Charge[], at: number | undefined): Promise<void> {
    const groups = this.#groups(charges) ?? [{ charges }]
    await allDone(groups.map((group) => this.#run(operation, group.charges, at)))
  }

  /** Ends holds of one unit. One that has ended, and that nobody has removed yet, counts as released. */
  async #remove(charges: readonly Charge[]): Promise<boolean> {
    this.#start(charges)
    const removed = await Promise.all(
      charges.map((charge) => {
        const key = storageKey(charge)
        return this.#batcher.command(key, ["ZREM", key, `1:${holdIdText(charge.hold as HoldId)}`])
      }),
    )
    return removed.every((count) => count === 1)
  }

  /** In a Cluster, holds on keys in several slots are extended slot by slot. */
  async #onHolds(
    operation: typeof RELEASE | typeof EXTEND,
    charges: readonly Charge[],
    at: number | undefined,
  ): Promise<boolean> {
    const groups = this.#groups(charges) ?? [{ charges }]
    const outcomes = await Promise.all(groups.map((group) => this.#run(operation, group.charges, at)))
    return outcomes.every(({ allowed }) => allowed)
  }

  #start(charges: readonly Charge[]): void {
    if (this.#isClosed) throw new SluiceError("STORE_CLOSED", { place: "redisStore", expected: "was closed" })
    const first = charges[0]
    if (first !== undefined) this.#fleets.of(first.namespace).start()
  }
}

function thresholdsOf(settings: BreakerSettings): BreakerThresholds {
  const place = "redisStore.breaker"
  checkFields(settings, ["failures", "failureRate", "probeEvery"], place)
  const { probeEvery, ...counts } = settings
  checkType(counts.failures, `${place}.failures`, "an integer ≥ 1", (value) => {
    return Number.isInteger(value) && (value as number) >= 1
  })
  checkType(counts.failureRate, `${place}.failureRate`, "a number above 0 and at most 1", (value) => {
    return typeof value === "number" && value > 0 && value <= 1
  })
  if (probeEvery === undefined) return counts
  return { ...counts, probeEveryMs: parseDuration(probeEvery, `${place}.probeEvery`) }
}

/** What the deny cache knows a charge by. Another cost or another limit on the same key is another entry. */
function nameOfDenial(charge: Charge): string {
  const { limit, capacity, window, calendar } = charge.policy
  return `${storageKey(charge)} ${charge.cost} ${limit} ${capacity} ${window} ${calendar?.timeZone}`
}
