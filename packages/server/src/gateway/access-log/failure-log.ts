import { type Clock, systemClock } from "sluice"
import type { Log } from "../../telemetry/index.js"
import type { OnUpstreamFailure } from "../front/upstream-failure.js"

/** One failure of a kind is enough to read in this time. */
const EVERY_MS = 1_000

/** Logs why upstreams gave no answer: of each target and kind one a second, with the number of those before it. */
export class FailureLog {
  readonly #log: Log
  readonly #clock: Clock
  /** As many as there are targets times problems. */
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
    this.#kinds.set(kind, { until: now + EVERY_MS, skipped: 0 })
    const skipped = known?.skipped || undefined
    this.#log.warn(
      { target: origin, code: problem, error: error.message, skipped },
      "an upstream gave no answer",
    )
  }
}
