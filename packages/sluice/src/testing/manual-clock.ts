import type { Clock } from "../clock.js"

interface Scheduled {
  readonly due: number
  readonly callback: () => void
}

/** A clock for tests, which moves only when the test moves it. Callbacks that fall due run in the order of their times. */
export class ManualClock implements Clock {
  #now: number
  readonly #scheduled = new Set<Scheduled>()

  /** Starts at the given time in milliseconds; by default at 2026-01-01T00:00:00Z. */
  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  /** Moves forward by `ms`, which may be fractional, and runs the callbacks that fall due. */
  advance(ms: number): void {
    this.set(this.#now + ms)
  }

  /** Moves to a time, also backwards, and runs the callbacks that fall due. */
  set(now: number): void {
    for (;;) {
      let next: Scheduled | undefined
      for (const entry of this.#scheduled) {
        if (entry.due <= now && (next === undefined || entry.due < next.due)) next = entry
      }
      if (next === undefined) break
      this.#scheduled.delete(next)
      if (next.due > this.#now) this.#now = next.due
      next.callback()
    }
    this.#now = now
  }

  schedule(ms: number, callback: () => void): () => void {
    const entry = { due: this.#now + ms, callback }
    this.#scheduled.add(entry)
    return () => {
      this.#scheduled.delete(entry)
    }
  }

  /** How many callbacks are scheduled. */
  get pending(): number {
    return this.#scheduled.size
  }
}
