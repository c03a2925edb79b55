import { randomUUID } from "node:crypto"
import type { Lane } from "./lane.js"
import { HEARTBEAT } from "./scripts.js"

const KEYS = ["s1:{fleet}:instances", "s1:{fleet}:blocks"]
/** Beats an instance may miss before it no longer counts. */
const PATIENCE = 3

/** Keeps count of the instances that share a Redis, and of whether any key is blocked. */
export class Heartbeat {
  /** Live instances as last known: the number still holds when Redis is away. */
  instances = 1
  /** True until a beat has said otherwise: a block from before this instance started counts, too. */
  anyBlocks = true
  readonly #lane: Lane
  readonly #everyMs: number
  readonly #id = randomUUID()
  #timer: ReturnType<typeof setTimeout> | undefined
  #started = false
  #onFirst: (() => void) | undefined

  /** `onFirst` is called once, when Redis has answered for the first time. */
  constructor(lane: Lane, everyMs: number, onFirst: () => void) {
    this.#lane = lane
    this.#everyMs = everyMs
    this.#onFirst = onFirst
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
    clearTimeout(this.#timer)
    if (!this.#started) return
    this.#started = false
    await this.#say(0, 0).catch(() => {})
  }

  async #beat(): Promise<void> {
    await this.#say(this.#everyMs * PATIENCE, 0).catch(() => {})
    if (!this.#started) return
    // A little early and never at the same time as everyone else.
    this.#timer = setTimeout(() => void this.#beat(), this.#everyMs * (0.75 + Math.random() * 0.25))
    this.#timer.unref?.()
  }

  async #say(patienceMs: number, blockedMs: number): Promise<void> {
    const args = [this.#id, String(Math.ceil(patienceMs)), String(blockedMs)]
    const reply = await this.#lane.command(KEYS[0], ["EVAL", HEARTBEAT, "2", ...KEYS, ...args])
    const [instances, blocks] = reply as [number, number]
    this.instances = Math.max(1, Number(instances))
    this.anyBlocks = Number(blocks) === 1
    this.#onFirst?.()
    this.#onFirst = undefined
  }
}
