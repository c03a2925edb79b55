import type { Namespace } from "../store.js"
import { DEFAULT_PREFIX } from "../store.js"
import type { HeartbeatLane } from "./heartbeat.js"
import { Heartbeat } from "./heartbeat.js"

/** The fleets that this instance belongs to: one for each prefix of its limiters, each with a heartbeat of its own. */
export class Fleets {
  readonly #lane: HeartbeatLane
  readonly #everyMs: number
  readonly #byPrefix = new Map<string, Heartbeat>()
  #onFirst: (() => void) | undefined
  /** Nearly always the same: checks of one limiter follow one another. */
  #lastPrefix: string | undefined
  #last!: Heartbeat

  /** `onFirst` is called once, when Redis has answered for the first time. */
  constructor(lane: HeartbeatLane, everyMs: number, onFirst: () => void) {
    this.#lane = lane
    this.#everyMs = everyMs
    this.#onFirst = onFirst
  }

  /** The fleet whose limiters count in a namespace. Its heartbeat starts with its first check. */
  of(namespace: Namespace): Heartbeat {
    // A namespace of another copy of this library, from before it had a prefix.
    const prefix = namespace.prefix ?? DEFAULT_PREFIX
    if (prefix !== this.#lastPrefix) {
      this.#last = this.#byPrefix.get(prefix) ?? this.#found(prefix)
      this.#lastPrefix = prefix
    }
    return this.#last
  }

  /** The most that any of its fleets has: a share must never be too large. */
  get instances(): number {
    let most = 1
    for (const { instances } of this.#byPrefix.values()) most = Math.max(most, instances)
    return most
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#byPrefix.values(), (heartbeat) => heartbeat.stop()))
  }

  #found(prefix: string): Heartbeat {
    const onFirst = () => {
      this.#onFirst?.()
      this.#onFirst = undefined
    }
    const heartbeat = new Heartbeat(this.#lane, { everyMs: this.#everyMs, prefix, onFirst })
    this.#byPrefix.set(prefix, heartbeat)
    return heartbeat
  }
}
