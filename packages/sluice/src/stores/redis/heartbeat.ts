import { randomUUID } from "node:crypto"
import type { Timers } from "../fallback/timers.js"
import { backgroundTimers } from "../fallback/timers.js"
import { DEFAULT_PREFIX } from "../store.js"
import { FleetSize } from "./fleet-size.js"
import { encodeKey } from "./keys.js"
import { HEARTBEAT } from "./scripts.js"

/** Beats an instance may miss before it no longer counts. */
const PATIENCE = 3
/** How long an instance may take to reach a Redis that has returned: to connect again and to probe, half a second each. */
const RETURN_MS = 1_000

/** The part of a lane that a heartbeat needs. */
export interface HeartbeatLane {
  command(key: string | undefined, args: (string | Buffer)[]): Promise<unknown>
}

export interface HeartbeatOptions {
  readonly everyMs: number
  /** Instances with the same prefix are one fleet: they share counters. */
  readonly prefix: string
  /** Called once, when Redis has answered for the first time. */
  readonly onFirst?: () => void
  readonly timers?: Timers
  /** From 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number
}

/** Keeps count of the instances that share the counters of a prefix, and of whether any key is blocked. */
export class Heartbeat {
  /** True until a beat has said otherwise: a block from before this instance started counts, too. */
  anyBlocks = true
  readonly #lane: HeartbeatLane
  readonly #everyMs: number
  readonly #keys: readonly [string, string]
  readonly #timers: Timers
  readonly #random: () => number
  readonly #size: FleetSize
  readonly #id = randomUUID()
  #stopTimer: (() => void) | undefined
  #started = false
  #onFirst: (() => void) | undefined

  constructor(lane: HeartbeatLane, options: HeartbeatOptions) {
    this.#lane = lane
    this.#everyMs = options.everyMs
    this.#keys = keysOf(options.prefix)
    this.#timers = options.timers ?? backgroundTimers
    this.#random = options.random ?? Math.random
    this.#onFirst = options.onFirst
    this.#size = new FleetSize(Math.max(PATIENCE * this.#everyMs, this.#everyMs + RETURN_MS))
  }

  /** Live instances as last known, this one included. */
  get instances(): number {
    return this.#size.instances
  }

  start(): void {
    if (this.#started || this.#everyMs === 0) return
    this.#started = true
    void this.#beat()
  }

  /** Lets the whole fleet know, within a beat, that checks must ask for blocks. */
  async announceBlock(durationMs: number): Promise<void> {
    this.anyBlocks = true
    await this.#say(this.#everyMs * PATIENCE, Math.ceil(durationMs))
  }

  async stop(): Promise<void> {
    this.#stopTimer?.()
    if (!this.#started) return
    this.#started = false
    await this.#say(0, 0).catch(() => {})
  }

  async #beat(): Promise<void> {
    await this.#say(this.#everyMs * PATIENCE, 0).catch(() => this.#size.missed())
    if (!this.#started) return
    // A little early and never at the same time as everyone else.
    const ms = this.#everyMs * (0.75 + this.#random() * 0.25)
    this.#stopTimer = this.#timers.schedule(ms, () => void this.#beat())
  }

  async #say(patienceMs: number, blockedMs: number): Promise<void> {
    const args = [this.#id, String(Math.ceil(patienceMs)), String(blockedMs)]
    const reply = await this.#lane.command(this.#keys[0], ["EVAL", HEARTBEAT, "2", ...this.#keys, ...args])
    const [instances, blocks] = reply as [number, number]
    if (patienceMs > 0) this.#size.counted(Math.max(1, Number(instances)), this.#timers.now())
    this.anyBlocks = Number(blocks) === 1
    this.#onFirst?.()
    this.#onFirst = undefined
  }
}

/** Where a fleet is counted, and where it notes that a key is blocked. One hash tag: a script touches both. */
function keysOf(prefix: string): [string, string] {
  const fleet = prefix === DEFAULT_PREFIX ? "fleet" : `fleet:${encodeKey(prefix)}`
  return [`s1:{${fleet}}:instances`, `s1:{${fleet}}:blocks`]
}
