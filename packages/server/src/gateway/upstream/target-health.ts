import { type Clock, systemClock } from "sluice"
import type { Pool } from "./pool.js"
import type { Target } from "./upstream.js"

/** When a target that fails real requests is left alone for a while. */
export interface Ejection {
  /** Failures in a row; 0 never ejects. */
  readonly failures: number
  /** For how long, in milliseconds. The second time in a row twice as long, and so on. */
  readonly forMs: number
}

/** A target that keeps failing is tried again after ten times as long, at the latest. */
const MOST_TIMES = 10

/** A target that knows how busy it is, and whether it is fit to be asked. */
export class FitTarget implements Target {
  readonly origin: string
  readonly pool: Pool
  /** Exchanges under way. */
  active = 0
  /** What the active health check says; true where there is none. */
  isHealthy = true
  readonly #ejection: Ejection
  readonly #clock: Clock
  #failuresInRow = 0
  #ejectionsInRow = 0
  /** 0 when it is not ejected. */
  #ejectedUntil = 0

  constructor(origin: string, pool: Pool, ejection: Ejection, clock: Clock = systemClock) {
    this.origin = origin
    this.pool = pool
    this.#ejection = ejection
    this.#clock = clock
  }

  get isEjected(): boolean {
    return this.#ejectedUntil !== 0 && this.#clock.now() < this.#ejectedUntil
  }

  begin(): void {
    this.active++
  }

  ended(outcome: "answered" | "failed"): void {
    this.active--
    if (outcome === "failed") this.#failed()
    else if (this.#failuresInRow !== 0) this.#forgive()
  }

  #failed(): void {
    const { failures, forMs } = this.#ejection
    this.#failuresInRow++
    // Those that were under way when it was ejected fail too, and say nothing new.
    if (failures === 0 || this.#failuresInRow < failures || this.isEjected) return
    this.#ejectionsInRow = Math.min(MOST_TIMES, this.#ejectionsInRow + 1)
    this.#ejectedUntil = this.#clock.now() + forMs * this.#ejectionsInRow
  }

  #forgive(): void {
    this.#failuresInRow = 0
    this.#ejectionsInRow = 0
    this.#ejectedUntil = 0
  }
}
