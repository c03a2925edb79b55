import type { RuleDecision, RuleEngine } from "sluice/rules"
import type { LoggedRequest } from "../log/logged-request.js"
import type { ReplayedHoldsReport } from "../model/report.js"

interface Running {
  readonly endsAt: number
  readonly decision: RuleDecision
}

/**
 * Ends what replayed requests hold by limits of concurrency when they ended, by the log. If the log does not tell how long a
 * request took, its hold ends at once: the limit then denies too little, and the report says so.
 */
export class ReplayedHolds {
  readonly #engine: RuleEngine
  /** A binary heap: the request that ends first comes first. */
  readonly #running: Running[] = []
  #timed = 0
  #untimed = 0

  constructor(engine: RuleEngine) {
    this.#engine = engine
  }

  get report(): ReplayedHoldsReport {
    return { timed: this.#timed, untimed: this.#untimed }
  }

  /** Ends the requests that were over at this time. */
  advance(at: number): void {
    while (this.#running.length > 0 && (this.#running[0] as Running).endsAt <= at)
      this.#release(this.#takeFirst())
  }

  /** Takes an allowed request. */
  begin(request: LoggedRequest, decision: RuleDecision): void {
    if (!this.#engine.mustSettle(decision) || this.#engine.holdOf(decision) === undefined) return
    if (request.durationMs === undefined) {
      this.#untimed++
      this.#release(decision)
      return
    }
    this.#timed++
    this.#add({ endsAt: request.at + request.durationMs, decision })
  }

  /** The memory store releases during the call. */
  #release(decision: RuleDecision): void {
    void this.#engine.release(decision)
  }

  #add(running: Running): void {
    const heap = this.#running
    let i = heap.push(running) - 1
    for (
      let parent = (i - 1) >> 1;
      i > 0 && (heap[parent] as Running).endsAt > running.endsAt;
      parent = (i - 1) >> 1
    ) {
      heap[i] = heap[parent] as Running
      i = parent
    }
    heap[i] = running
  }

  #takeFirst(): RuleDecision {
    const heap = this.#running
    const { decision } = heap[0] as Running
    const last = heap.pop() as Running
    const { length } = heap
    if (length === 0) return decision
    let i = 0
    for (let child = 1; child < length; child = 2 * i + 1) {
      if (child + 1 < length && (heap[child + 1] as Running).endsAt < (heap[child] as Running).endsAt) child++
      if ((heap[child] as Running).endsAt >= last.endsAt) break
      heap[i] = heap[child] as Running
      i = child
    }
    heap[i] = last
    return decision
  }
}
