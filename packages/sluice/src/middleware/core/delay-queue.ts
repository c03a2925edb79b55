import type { Clock } from "../../clock.js"
import { systemClock } from "../../clock.js"
import { SlotQueue } from "../../slot-queue.js"
import type { RequestDecision } from "./passage.js"

/** Where requests of a queueing leaky bucket wait for their turn. It has so many places and no more. */
export class HoldingRoom {
  readonly #max: number
  readonly #queue: SlotQueue
  #taken = 0

  constructor(max: number, clock: Clock = systemClock) {
    this.#max = max
    this.#queue = new SlotQueue({
      now: () => clock.now(),
      schedule: (clock.schedule ?? systemClock.schedule).bind(clock),
    })
  }

  /** How many requests wait now. */
  get taken(): number {
    return this.#taken
  }

  /** Takes a place. False when there is none; whoever got one must `wait`, which frees it. */
  enter(): boolean {
    if (this.#taken >= this.#max) return false
    this.#taken++
    return true
  }

  /**
   * Waits in the line of the bucket that holds a request, first come, first served. True when its turn has come, false when the
   * signal came first; those behind it then move up. `key`: where no rule says whose bucket it is.
   */
  async wait(
    decision: RequestDecision,
    key: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const isDue = await this.#queue.wait(lineOf(decision, key), decision.delayMs, signal)
    this.#taken--
    return isDue
  }
}

/** The bucket that holds a request: of a limiter's key, or of the rule that has the least left. */
function lineOf(decision: RequestDecision, key: string | undefined): string {
  if (!("reason" in decision)) return key ?? ""
  const enforced = decision.rules.filter(({ mode }) => mode === "enforce")
  const own = enforced.filter(({ rule }) => rule === decision.rule)
  const outcomes = own.length > 0 ? own : enforced
  return JSON.stringify(outcomes.map((outcome) => [outcome.rule, outcome.tier, outcome.key]))
}
