// The deadlines of one exchange. Nearly every exchange ends long before them, so marking progress only reads the clock. The
// exchanges of a route share one timer for the first check, when the shortest deadline could have passed. Only exchanges that
// last longer get a timer of their own.

import { MAX_TIMEOUT_MS, type TimeoutEntry, Timeouts } from "sluice/internal"
import type { Deadlines } from "../routes/route.js"

export type Deadline = "headers" | "bodyIdle" | "total"

/** One for each route. */
const lists = new WeakMap<Deadlines, Timeouts>()

function listOf(deadlines: Deadlines, ms: number): Timeouts {
  let list = lists.get(deadlines)
  if (list === undefined) {
    list = new Timeouts(ms)
    lists.set(deadlines, list)
  }
  return list
}

export class DeadlineTimer implements TimeoutEntry {
  previous: TimeoutEntry | undefined = undefined
  next: TimeoutEntry | undefined = undefined
  dueAt = 0
  readonly #deadlines: Deadlines
  readonly #expired: (deadline: Deadline) => void
  readonly #startedAt: number
  /** The longest time between two checks: a phase that starts in between may have a shorter deadline. */
  readonly #shortest: number
  #phase: "headers" | "bodyIdle" | undefined
  #markedAt: number
  /** The shared timer of the first check. */
  #list: Timeouts | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(deadlines: Deadlines, now: number, expired: (deadline: Deadline) => void) {
    const { headers, bodyIdle, total } = deadlines
    this.#deadlines = deadlines
    this.#expired = expired
    this.#startedAt = now
    this.#markedAt = now
    this.#shortest = Math.min(headers || Infinity, bodyIdle || Infinity, total || Infinity)
    if (this.#shortest === Infinity) return
    this.#list = listOf(deadlines, this.#shortest)
    this.#list.add(this, now)
  }

  /** Starts a phase. */
  enter(phase: "headers" | "bodyIdle" | undefined, now: number): void {
    this.#phase = phase
    this.#markedAt = now
  }

  /** Progress in the current phase. */
  mark(): void {
    this.#markedAt = performance.now()
  }

  stop(): void {
    this.#list?.remove(this)
    this.#list = undefined
    if (this.#timer !== undefined) clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(ms: number): void {
    this.#timer = ms === Infinity ? undefined : setTimeout(() => this.expire(), Math.min(ms, MAX_TIMEOUT_MS))
  }

  /** Checks whether a deadline has passed. */
  expire(): void {
    this.#list = undefined
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
