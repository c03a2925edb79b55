import type { RuleDecision, RuleEngine, RuleSetDocument } from "sluice/rules"
import type { LoggedRequest } from "../log/logged-request.js"
import type { ReplayedCostsReport, ReplayedHoldsReport } from "../model/report.js"

interface Running {
  readonly endsAt: number
  readonly decision: RuleDecision
  readonly isHeld: boolean
  /** The real cost, if it replaces an estimate. */
  readonly cost: number | undefined
}

/**
 * Ends replayed requests when they ended, by the log: what they hold by limits of concurrency is released, and the real cost
 * replaces the estimate of rules that take their cost from the response. If the log does not tell how long a request took, it ends
 * at once: a limit of concurrency then denies too little, and the report says so.
 */
export class RunningRequests {
  readonly #engine: RuleEngine
  /** The clock of the engine. */
  readonly #clock: { at: number }
  /** The rules that take their cost from the response. */
  readonly #costRules: ReadonlySet<string>
  /** A binary heap: the request that ends first comes first. */
  readonly #running: Running[] = []
  #timed = 0
  #untimed = 0
  #settled = 0
  #estimated = 0

  constructor(engine: RuleEngine, { rules }: RuleSetDocument, clock: { at: number }) {
    this.#engine = engine
    this.#clock = clock
    const readsResponse = ({ cost }: RuleSetDocument["rules"][number]) =>
      typeof cost === "object" && (cost.responseHeader !== undefined || cost.responseJson !== undefined)
    this.#costRules = new Set(rules.filter(readsResponse).map(({ id }) => id))
  }

  get holds(): ReplayedHoldsReport {
    return { timed: this.#timed, untimed: this.#untimed }
  }

  get costs(): ReplayedCostsReport {
    return { settled: this.#settled, estimated: this.#estimated }
  }

  /** Ends the requests that were over at this time, each at its own time. */
  advance(at: number): void {
    while (this.#running.length > 0 && (this.#running[0] as Running).endsAt <= at) {
      const first = this.#takeFirst()
      this.#clock.at = first.endsAt
      this.#end(first)
    }
    this.#clock.at = at
  }

  /** Takes an allowed request. */
  begin({ at, durationMs, realCost }: LoggedRequest, decision: RuleDecision): void {
    if (!this.#engine.mustSettle(decision)) return
    const isHeld = this.#engine.holdOf(decision) !== undefined
    if (isHeld && durationMs === undefined) this.#untimed++
    else if (isHeld) this.#timed++
    const isEstimate =
      this.#costRules.size > 0 && decision.rules.some(({ rule }) => this.#costRules.has(rule))
    if (isEstimate && realCost === undefined) this.#estimated++
    else if (isEstimate) this.#settled++
    const cost = isEstimate ? realCost : undefined
    if (!isHeld && cost === undefined) return
    const running = { endsAt: at + (durationMs ?? 0), decision, isHeld, cost }
    if (durationMs === undefined) this.#end(running)
    else this.#add(running)
  }

  /** The memory store settles and releases during the calls. */
  #end({ decision, isHeld, cost }: Running): void {
    if (cost !== undefined) void this.#engine.settle(decision, { status: undefined, cost })
    if (isHeld) void this.#engine.release(decision)
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

  #takeFirst(): Running {
    const heap = this.#running
    const first = heap[0] as Running
    const last = heap.pop() as Running
    const { length } = heap
    if (length === 0) return first
    let i = 0
    for (let child = 1; child < length; child = 2 * i + 1) {
      if (child + 1 < length && (heap[child + 1] as Running).endsAt < (heap[child] as Running).endsAt) child++
      if ((heap[child] as Running).endsAt >= last.endsAt) break
      heap[i] = heap[child] as Running
      i = child
    }
    heap[i] = last
    return first
  }
}
