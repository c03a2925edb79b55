// The deadlines of one exchange on one timer. Nearly every exchange is over long before any of them, so marking progress costs
// a look at the clock and no more: the timer finds out itself when it fires whether it is time.

import type { Deadlines } from "./route.js"

export type Deadline = "headers" | "bodyIdle" | "total"

export class DeadlineTimer {
  readonly #deadlines: Deadlines
  readonly #expired: (deadline: Deadline) => void
  readonly #startedAt: number
  /** The longest that may pass without a look: a phase that starts in between may have a shorter deadline. */
  readonly #shortest: number
  #phase: "headers" | "bodyIdle" | undefined
  #markedAt: number
  #timer: NodeJS.Timeout | undefined

  constructor(deadlines: Deadlines, now: number, expired: (deadline: Deadline) => void) {
    const { headers, bodyIdle, total } = deadlines
    this.#deadlines = deadlines
    this.#expired = expired
    this.#startedAt = now
    this.#markedAt = now
    this.#shortest = Math.min(headers || Infinity, bodyIdle || Infinity, total || Infinity)
    this.#arm(this.#shortest)
  }

  /** What is waited for from now on. */
  enter(phase: "headers" | "bodyIdle" | undefined, now: number): void {
    this.#phase = phase
    this.#markedAt = now
  }

  /** Something moved. */
  mark(): void {
    this.#markedAt = performance.now()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(ms: number): void {
    this.#timer = ms === Infinity ? undefined : setTimeout(() => this.#look(), Math.min(ms, 2 ** 31 - 1))
  }

  #look(): void {
    const now = performance.now()
    const { total } = this.#deadlines
    const phase = this.#phase
    const limit = phase === undefined ? 0 : this.#deadlines[phase]
    const totalLeft = total === 0 ? Infinity : this.#startedAt + total - now
    const phaseLeft = limit === 0 ? Infinity : this.#markedAt + limit - now
    if (totalLeft <= 0) this.#expired("total")
    else if (phaseLeft <= 0) this.#expired(phase as "headers" | "bodyIdle")
    else this.#arm(Math.ceil(Math.min(totalLeft, phaseLeft, this.#shortest)))
  }
}
