import { type Clock, systemClock } from "sluice"
import type { Log } from "../../telemetry/log.js"
import type { OnUpstreamFailure } from "../front/problems.js"

const INTERVAL_MS = 1_000

/** Logs failures of upstreams: for each target and kind of failure, at most one line a second with the number of those skipped. */
export class FailureLog {
  readonly #log: Log
  readonly #clock: Clock
  /** At most the number of targets times the number of kinds. */
  readonly #kinds = new Map<string, { until: number; skipped: number }>()

  constructor(log: Log, clock: Clock = systemClock) {
    this.#log = log
    this.#clock = clock
  }

  failed({ origin, problem, error }: Parameters<OnUpstreamFailure>[0]): void {
    const now = this.#clock.now()
    const kind = `${problem} ${origin}`
    const known = this.#kinds.get(kind)
    if (known !== undefined && now < known.until) {
      known.skipped++
      return
    }
    this.#kinds.set(kind, { until: now + INTERVAL_MS, skipped: 0 })
    const skipped = known?.skipped || undefined
    this.#log.warn(
      { target: origin, code: problem, error: error.message, skipped },
      "upstream request failed",
    )
  }
}
