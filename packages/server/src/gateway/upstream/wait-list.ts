/** The longest that a timer can run. */
export const LONGEST_MS = 2 ** 31 - 1

/** Somebody in a wait list, and those beside it there. */
export interface Waiting {
  before: Waiting | undefined
  after: Waiting | undefined
  /** By `performance.now()`. */
  dueAt: number
  /** The time is over. It is not in the list any more. */
  due(): void
}

/**
 * Those who wait for the same time, in the order in which they came, on one timer. Nearly all leave long before their time is
 * over, and a timer that is made and cleared for each of them costs ten times as much.
 */
export class WaitList {
  readonly #ms: number
  #first: Waiting | undefined
  #last: Waiting | undefined
  #isArmed = false

  constructor(ms: number) {
    this.#ms = ms
  }

  add(waiting: Waiting, now: number): void {
    waiting.dueAt = now + this.#ms
    waiting.before = this.#last
    if (this.#last === undefined) this.#first = waiting
    else this.#last.after = waiting
    this.#last = waiting
    if (!this.#isArmed) this.#arm(this.#ms)
  }

  /** Only what is in it. */
  remove(waiting: Waiting): void {
    const { before, after } = waiting
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    waiting.before = undefined
    waiting.after = undefined
  }

  /** Not cleared when the list is empty: the next one comes soon, and is told late by nobody. */
  #arm(ms: number): void {
    if (ms === Infinity) return
    this.#isArmed = true
    setTimeout(() => this.#tell(), Math.min(Math.max(1, Math.ceil(ms)), LONGEST_MS)).unref()
  }

  #tell(): void {
    const now = performance.now()
    this.#isArmed = false
    let waiting = this.#first
    while (waiting !== undefined && waiting.dueAt <= now) {
      this.remove(waiting)
      waiting.due()
      waiting = this.#first
    }
    if (waiting !== undefined && !this.#isArmed) this.#arm(waiting.dueAt - now)
  }
}
