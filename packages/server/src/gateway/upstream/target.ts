import { type Clock, systemClock } from "sluice"
import type { Pool } from "./pool.js"

/** One address of an upstream. */
export interface Target {
  /** `http://127.0.0.1:3000` */
  readonly origin: string
  readonly pool: Pool
  /** An exchange starts. Every call is followed by one call of `ended`. */
  begin(): void
  /** `failed`: no connection, a broken connection, a passed deadline or invalid HTTP. A status of 500 is an answer. */
  ended(outcome: "answered" | "failed"): void
}

/** When a target whose requests fail is ejected: left out for a while. */
export interface Ejection {
  /** Failures in a row that eject the target; 0 never ejects. */
  readonly failures: number
  /** How long the first ejection lasts, in milliseconds. The second in a row lasts twice as long, and so on. */
  readonly forMs: number
}

/** An ejection lasts at most ten times `forMs`. */
const MAX_EJECTION_FACTOR = 10

/** A target that counts its exchanges and is ejected after repeated failures. */
export class MonitoredTarget implements Target {
  readonly origin: string
  readonly pool: Pool
  /** Exchanges in progress. */
  active = 0
  /** The result of the active health check; true when there is none. */
  isHealthy = true
  readonly #ejection: Ejection
  readonly #clock: Clock
  #failuresInRow = 0
  #ejectionsInRow = 0
  /** 0 when the target is not ejected. */
  #ejectedUntil = 0

  constructor(origin: string, pool: Pool, ejection: Ejection, clock: Clock = systemClock) {
    this.origin = origin
    this.pool = pool
    this.#ejection = ejection
    this.#clock = clock
  }

  /** Whether the target is left out because its last requests failed. */
  get isEjected(): boolean {
    return this.#ejectedUntil !== 0 && this.#clock.now() < this.#ejectedUntil
  }

  begin(): void {
    this.active++
  }

  ended(outcome: "answered" | "failed"): void {
    this.active--
    if (outcome === "failed") this.#recordFailure()
    else if (this.#failuresInRow !== 0) this.#clearFailures()
  }

  #recordFailure(): void {
    const { failures, forMs } = this.#ejection
    this.#failuresInRow++
    // Exchanges that were in progress at the ejection fail as well; they must not prolong it.
    if (failures === 0 || this.#failuresInRow < failures || this.isEjected) return
    this.#ejectionsInRow = Math.min(MAX_EJECTION_FACTOR, this.#ejectionsInRow + 1)
    this.#ejectedUntil = this.#clock.now() + forMs * this.#ejectionsInRow
  }

  #clearFailures(): void {
    this.#failuresInRow = 0
    this.#ejectionsInRow = 0
    this.#ejectedUntil = 0
  }
}
