// Shares the event loop among connections: however much they have sent, it turns every few milliseconds, and those that have
// more to do come to it one after the other.

/** How long all of them together may work before it turns. */
const LONGEST_TURN_MS = 5

export class TurnQueue {
  readonly #waiting: (() => void)[] = []
  #endsAt: number | undefined
  #isScheduled = false

  /** Whether the rest has to wait. */
  get isOver(): boolean {
    const now = performance.now()
    if (this.#endsAt === undefined) {
      this.#endsAt = now + LONGEST_TURN_MS
      this.#schedule()
    }
    return now >= this.#endsAt
  }

  /** Calls `work` when the loop has turned, and those that came before have had theirs. */
  wait(work: () => void): void {
    this.#waiting.push(work)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#run())
  }

  #run(): void {
    this.#isScheduled = false
    this.#endsAt = undefined
    // Who comes again is behind all others, and not before the loop has turned.
    for (let left = this.#waiting.length; left > 0 && !this.isOver; left--) this.#waiting.shift()?.()
    if (this.#waiting.length > 0) this.#schedule()
  }
}
