// Shares the event loop among connections: it turns every few milliseconds however much they send, and connections with more
// work continue one after the other.

/** How long all connections together may work before the event loop turns. */
const MAX_TURN_MS = 5

export class TurnQueue {
  readonly #waiting: (() => void)[] = []
  #endsAt: number | undefined
  #isScheduled = false

  /** Whether the time of this turn is used up. */
  get isOver(): boolean {
    const now = performance.now()
    if (this.#endsAt === undefined) {
      this.#endsAt = now + MAX_TURN_MS
      this.#schedule()
    }
    return now >= this.#endsAt
  }

  /** Calls `work` in a later turn of the event loop, after the work that was queued before. */
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
    // Work that is queued meanwhile waits for the next turn.
    for (let left = this.#waiting.length; left > 0 && !this.isOver; left--) this.#waiting.shift()?.()
    if (this.#waiting.length > 0) this.#schedule()
  }
}
