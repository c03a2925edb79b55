import { DecisionSlot } from "sluice/internal/rules"
import type { RuleDecision, RuleRequest } from "sluice/rules"
import type { Decided, Protocol, Watch } from "./core.js"

type Event = { -readonly [Field in keyof Decided]: Decided[Field] }

/**
 * Decisions made one after the other in one turn. Each is told of with its share of the time, so that the clock is read twice
 * for all of them and not twice for each. Those who come after take the room of those before, so that nothing is left to
 * collect: a few at a time keep to a few kilobytes.
 */
export class DecidedTogether {
  readonly #watch: Watch
  readonly #protocol: Protocol
  readonly #slots: DecisionSlot[] = []
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

  /** Room for the next decision, and until it is added for no other. */
  get slot(): DecisionSlot {
    const known = this.#slots[this.#count]
    if (known !== undefined) return known
    const slot = new DecisionSlot()
    this.#slots.push(slot)
    return slot
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
