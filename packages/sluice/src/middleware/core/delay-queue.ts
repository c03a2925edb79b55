import { type Clock, schedulingClock } from "../../clock.js"
import { SlotQueue } from "../../limiter/slot-queue.js"
import type { RequestDecision } from "./rate-limit-options.js"

/** Holds the requests that queueing leaky buckets delay, up to a maximum number at once. */
export class DelayQueue {
  readonly #max: number
  readonly #queue: SlotQueue
  #size = 0

  constructor(max: number, clock?: Clock) {
    this.#max = max
    this.#queue = new SlotQueue(schedulingClock(clock))
  }

  /** How many places are taken. */
  get size(): number {
    return this.#size
  }

  /** Takes a place and returns true, or returns false when the queue is full. Each place is freed by a call to `wait`. */
  reserve(): boolean {
    if (this.#size >= this.#max) return false
    this.#size++
    return true
  }

  /**
   * Waits for the request's turn. Requests of the same bucket leave in the order in which they came. Resolves to true at the
   * request's turn, and to false when `signal` aborts first; the requests behind it then move up. `key` names the bucket
   * when a limiter decided.
   */
  async wait(
    decision: RequestDecision,
    key: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const isDue = await this.#queue.wait(bucketOf(decision, key), decision.delayMs, signal)
    this.#size--
    return isDue
  }
}

/** Names the bucket that delays the request: the limiter's key, or the enforced rule with the least left and its key. */
function bucketOf(decision: RequestDecision, key: string | undefined): string {
  if (!("reason" in decision)) return key ?? ""
  const enforced = decision.rules.filter(({ mode }) => mode === "enforce")
  const own = enforced.filter(({ rule }) => rule === decision.rule)
  const outcomes = own.length > 0 ? own : enforced
  return JSON.stringify(outcomes.map((outcome) => [outcome.rule, outcome.tier, outcome.key]))
}
