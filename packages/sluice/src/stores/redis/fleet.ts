import { randomUUID } from "node:crypto"
import type { Timers } from "../fallback/timers.js"
import { backgroundTimers } from "../fallback/timers.js"
import type { Namespace } from "../store.js"
import { DEFAULT_PREFIX } from "../store.js"
import { encodeKey } from "./keys.js"
import { HEARTBEAT } from "./scripts.js"

/** An instance that misses this many heartbeats no longer counts. */
const MISSED_HEARTBEATS = 3
/** How long an instance may take to reach a Redis that has returned: half a second to connect, half a second to probe. */
const RETURN_MS = 1_000

/** The part of a batcher that a heartbeat needs. */
export interface CommandRunner {
  command(key: string | undefined, args: (string | Buffer)[]): Promise<unknown>
}

/**
 * The fleets that this instance belongs to: one for each prefix of its limiters, each with its own heartbeat. Instances with
 * the same prefix share counters.
 */
export class Fleets {
  readonly #redis: CommandRunner
  readonly #intervalMs: number
  readonly #byPrefix = new Map<string, Fleet>()
  #onFirst: (() => void) | undefined
  /** The fleet of the last check: the next check usually belongs to the same one. */
  #lastPrefix: string | undefined
  #last!: Fleet

  /** Calls `onFirst` once, when Redis has answered for the first time. */
  constructor(redis: CommandRunner, intervalMs: number, onFirst: () => void) {
    this.#redis = redis
    this.#intervalMs = intervalMs
    this.#onFirst = onFirst
  }

  /** The fleet whose limiters count in a namespace. */
  of(namespace: Namespace): Fleet {
    // A namespace made by an older copy of this library has no prefix.
    const prefix = namespace.prefix ?? DEFAULT_PREFIX
    if (prefix !== this.#lastPrefix) {
      this.#last = this.#byPrefix.get(prefix) ?? this.#add(prefix)
      this.#lastPrefix = prefix
    }
    return this.#last
  }

  /** The size of the largest fleet, because an instance's share of a limit must never be too large. */
  get instances(): number {
    let max = 1
    for (const { instances } of this.#byPrefix.values()) max = Math.max(max, instances)
    return max
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#byPrefix.values(), (fleet) => fleet.stop()))
  }

  #add(prefix: string): Fleet {
    const onFirst = () => {
      this.#onFirst?.()
      this.#onFirst = undefined
    }
    const fleet = new Fleet(this.#redis, { intervalMs: this.#intervalMs, prefix, onFirst })
    this.#byPrefix.set(prefix, fleet)
    return fleet
  }
}

export interface FleetOptions {
  /** Time between heartbeats; 0 for none. */
  readonly intervalMs: number
  readonly prefix: string
  /** Called once, when Redis has answered for the first time. */
  readonly onFirst?: () => void
  readonly timers?: Timers
  /** A number from 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number
}

/**
 * The instances that share the counters of one prefix. A heartbeat in Redis counts them, and tells each of them whether any
 * key is blocked.
 */
export class Fleet {
  /** True until a heartbeat says otherwise: a key may have been blocked before this instance started. */
  anyBlocks = true
  readonly #redis: CommandRunner
  readonly #intervalMs: number
  readonly #keys: readonly [string, string]
  readonly #timers: Timers
  readonly #random: () => number
  readonly #size: FleetSize
  readonly #id = randomUUID()
  #stopTimer: (() => void) | undefined
  #isStarted = false
  #onFirst: (() => void) | undefined

  constructor(redis: CommandRunner, options: FleetOptions) {
    this.#redis = redis
    this.#intervalMs = options.intervalMs
    this.#keys = keysOf(options.prefix)
    this.#timers = options.timers ?? backgroundTimers
    this.#random = options.random ?? Math.random
    this.#onFirst = options.onFirst
    this.#size = new FleetSize(Math.max(MISSED_HEARTBEATS * this.#intervalMs, this.#intervalMs + RETURN_MS))
  }

  /** Live instances as last known, this one included. */
  get instances(): number {
    return this.#size.instances
  }

  /** Starts the heartbeat, once. */
  start(): void {
    if (this.#isStarted || this.#intervalMs === 0) return
    this.#isStarted = true
    void this.#beat()
  }

  /** Tells the whole fleet, with its next heartbeats, that a key is blocked and checks must ask for blocks. */
  async announceBlock(durationMs: number): Promise<void> {
    this.anyBlocks = true
    await this.#send(this.#intervalMs * MISSED_HEARTBEATS, Math.ceil(durationMs))
  }

  async stop(): Promise<void> {
    this.#stopTimer?.()
    if (!this.#isStarted) return
    this.#isStarted = false
    await this.#send(0, 0).catch(() => {})
  }

  async #beat(): Promise<void> {
    await this.#send(this.#intervalMs * MISSED_HEARTBEATS, 0).catch(() => this.#size.missed())
    if (!this.#isStarted) return
    // Jitter, so that the heartbeats of a fleet do not arrive together.
    const ms = this.#intervalMs * (0.75 + this.#random() * 0.25)
    this.#stopTimer = this.#timers.schedule(ms, () => void this.#beat())
  }

  async #send(expiryMs: number, blockedMs: number): Promise<void> {
    const args = [this.#id, String(Math.ceil(expiryMs)), String(blockedMs)]
    const reply = await this.#redis.command(this.#keys[0], ["EVAL", HEARTBEAT, "2", ...this.#keys, ...args])
    const [instances, blocks] = reply as [number, number]
    if (expiryMs > 0) this.#size.counted(Math.max(1, Number(instances)), this.#timers.now())
    this.anyBlocks = Number(blocks) === 1
    this.#onFirst?.()
    this.#onFirst = undefined
  }
}

/** The hash tag of the keys that belong to a fleet as a whole. */
export function tagOf(prefix: string = DEFAULT_PREFIX): string {
  return prefix === DEFAULT_PREFIX ? "fleet" : `fleet:${encodeKey(prefix)}`
}

/** The key that counts the instances, and the key that exists while a key is blocked. They share a hash tag: one script uses both. */
function keysOf(prefix: string): [string, string] {
  const tag = tagOf(prefix)
  return [`s1:{${tag}}:instances`, `s1:{${tag}}:blocks`]
}

/**
 * How many instances share a Redis, from what the heartbeats count. The number rises at once and falls late. When Redis
 * returns, the first heartbeats count 1, 2, 3 … instances of a fleet that is complete, and a share of the limit computed from
 * those numbers would be too large. So a lower number holds only after every heartbeat of a whole period has counted fewer,
 * and none was lost in between.
 */
export class FleetSize {
  /** Live instances as last known. The number stays as it is while Redis is away. */
  instances = 1
  readonly #periodMs: number
  /** Since when every heartbeat counted fewer, and the most that one of them counted. */
  #lowSince: number | undefined
  #lowMax = 0

  constructor(periodMs: number) {
    this.#periodMs = periodMs
  }

  /** A heartbeat counted this many instances. `nowMs` is from a monotonic clock. */
  counted(instances: number, nowMs: number): void {
    if (instances >= this.instances) {
      this.instances = instances
      this.#lowSince = undefined
      return
    }
    if (this.#lowSince === undefined) {
      this.#lowSince = nowMs
      this.#lowMax = 0
    }
    this.#lowMax = Math.max(this.#lowMax, instances)
    if (nowMs - this.#lowSince < this.#periodMs) return
    this.instances = this.#lowMax
    this.#lowSince = undefined
  }

  /** A heartbeat got no answer. Instances that return with Redis need a whole period to be counted again. */
  missed(): void {
    this.#lowSince = undefined
  }
}
