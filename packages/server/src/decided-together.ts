import type { RuleDecision, RuleRequest } from "sluice/rules"
import type { Decided, Protocol, Watch } from "./core.js"

type Event = { -readonly [Field in keyof Decided]: Decided[Field] }

/**
 * Decisions made one after the other in one turn. Each is told of with its share of the time, so that the clock is read twice
 * for all of them and not twice for each. The events are reused.
 */
export class DecidedTogether {
  readonly #watch: Watch
  readonly #protocol: Protocol
  readonly #events: Event[] = []
  #count = 0
  #started = 0

  constructor(watch: Watch, protocol: Protocol) {
    this.#watch = watch
    this.#protocol = protocol
  }

  /** Forgets those before. */
  start(): void {
    this.#count = 0
    this.#started = performance.now()
  }

  add(decision: RuleDecision, request: RuleRequest | undefined, cost: number | undefined): void {
    const event = this.#events[this.#count++]
    if (event === undefined) {
      this.#events.push({ decision, protocol: this.#protocol, request, durationMs: 0, cost })
      return
    }
    event.decision = decision
    event.request = request
    event.cost = cost
  }

  tell(): void {
    const durationMs = (performance.now() - this.#started) / this.#count
    for (let i = 0; i < this.#count; i++) {
      const event = this.#events[i] as Event
      event.durationMs = durationMs
      this.#watch.decided(event)
    }
  }

  /** A decision by the order in which they were added. */
  decision(index: number): RuleDecision {
    return (this.#events[index] as Decided).decision
  }
}
