// Counts over time in a bounded number of steps. Steps begin with one second and grow with the span of the log, so that an hour and
// a year both make a readable chart.

import type { SeriesStep } from "../model/report.js"

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** The lengths of steps. Each is a multiple of the one before, so that steps can be merged. */
const LADDER = [
  SECOND,
  5 * SECOND,
  15 * SECOND,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  DAY,
]
/** A day in minutes, and a few more. */
const MAX_STEPS = 1_500

interface Row {
  readonly at: number
  requests: number
  denied: number
  shadowDenied: number
}

export class Series {
  #stepMs = SECOND
  #first = Number.POSITIVE_INFINITY
  #last = Number.NEGATIVE_INFINITY
  #rows = new Map<number, Row>()
  #row: Row = { at: Number.NaN, requests: 0, denied: 0, shadowDenied: 0 }

  add(at: number, denied: number, shadowDenied: number): void {
    // NaN compares false, so it starts a new step.
    if (!(at >= this.#row.at && at < this.#row.at + this.#stepMs)) this.#row = this.#rowAt(at)
    const row = this.#row
    row.requests++
    row.denied += denied
    row.shadowDenied += shadowDenied
  }

  get stepMs(): number {
    return this.#stepMs
  }

  /** The steps in order of time. */
  get steps(): SeriesStep[] {
    return [...this.#rows.values()].sort((a, b) => a.at - b.at)
  }

  #rowAt(at: number): Row {
    this.#first = Math.min(this.#first, at)
    this.#last = Math.max(this.#last, at)
    while (this.#last - this.#first >= MAX_STEPS * this.#stepMs) this.#join()
    const start = Math.floor(at / this.#stepMs) * this.#stepMs
    let row = this.#rows.get(start)
    if (row === undefined) {
      row = { at: start, requests: 0, denied: 0, shadowDenied: 0 }
      this.#rows.set(start, row)
    }
    return row
  }

  /** Merges steps into longer ones. Beyond days the length doubles. */
  #join(): void {
    this.#stepMs = LADDER.find((step) => step > this.#stepMs) ?? this.#stepMs * 2
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    for (const { at, requests, denied, shadowDenied } of rows) {
      const joined = this.#rowAt(at)
      joined.requests += requests
      joined.denied += denied
      joined.shadowDenied += shadowDenied
    }
  }
}
