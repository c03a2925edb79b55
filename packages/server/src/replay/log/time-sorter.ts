// Sorts requests by time. Logs are slightly out of order, because servers write a line when a request ends and several servers
// write at once. Requests are grouped by second and held until no earlier one is expected, so each costs one look-up.

import type { Disorder } from "../model/report.js"
import type { LoggedRequest } from "./logged-request.js"

/** The most requests in memory. A log with more in its window is sorted over a shorter time. */
const MAX_HELD = 65_536

export class TimeSorter {
  readonly #sink: (request: LoggedRequest) => void
  readonly #windowSeconds: number
  readonly #maxHeld: number
  readonly #seconds = new Map<number, LoggedRequest[]>()
  #held = 0
  /** All seconds before this one are delivered. */
  #open = Number.NEGATIVE_INFINITY
  #newest = Number.NEGATIVE_INFINITY
  #previous = Number.NEGATIVE_INFINITY
  #last: LoggedRequest[] = []
  #lastSecond = Number.NaN
  #stepsBack = 0
  #longest = 0
  #late = 0

  constructor(sink: (request: LoggedRequest) => void, windowMs: number, maxHeld = MAX_HELD) {
    this.#sink = sink
    this.#windowSeconds = Math.ceil(windowMs / 1000)
    this.#maxHeld = maxHeld
  }

  push(request: LoggedRequest): void {
    const { at } = request
    if (at < this.#previous) this.#stepsBack++
    this.#previous = at
    const second = Math.floor(at / 1000)
    if (second === this.#lastSecond) this.#last.push(request)
    else if (second < this.#open) {
      this.#late++
      this.#sink(request)
      this.#longest = Math.max(this.#longest, this.#newest - at)
      return
    } else this.#pushInto(second, request)
    if (at < this.#newest) this.#longest = Math.max(this.#longest, this.#newest - at)
    else this.#newest = at
    if (++this.#held > this.#maxHeld) this.#makeRoom()
  }

  /** Delivers all remaining requests. */
  end(): void {
    this.#handOn(Number.POSITIVE_INFINITY)
  }

  get disorder(): Disorder {
    return { lines: this.#stepsBack, longestMs: this.#longest, late: this.#late }
  }

  #pushInto(second: number, request: LoggedRequest): void {
    const held = this.#seconds.get(second)
    this.#last = held ?? []
    this.#lastSecond = second
    if (held === undefined) this.#seconds.set(second, this.#last)
    this.#last.push(request)
    if (request.at > this.#newest) this.#handOn(second - this.#windowSeconds)
  }

  #makeRoom(): void {
    let oldest = Number.POSITIVE_INFINITY
    for (const second of this.#seconds.keys()) oldest = Math.min(oldest, second)
    this.#handOn(oldest + 1)
    // Requests of a second that is not delivered yet are not late.
    if (this.#seconds.size === 0) this.#open = oldest
  }

  /** Delivers all seconds before this one, in order. */
  #handOn(before: number): void {
    if (before <= this.#open) return
    this.#open = before
    const due: number[] = []
    for (const second of this.#seconds.keys()) if (second < before) due.push(second)
    due.sort((a, b) => a - b)
    for (const second of due) {
      const requests = this.#seconds.get(second) as LoggedRequest[]
      this.#seconds.delete(second)
      this.#held -= requests.length
      // The sort is stable, so requests of the same time keep their order.
      if (!isSorted(requests)) requests.sort((a, b) => a.at - b.at)
      for (const request of requests) this.#sink(request)
    }
    if (this.#lastSecond < before) this.#lastSecond = Number.NaN
  }
}

function isSorted(requests: readonly LoggedRequest[]): boolean {
  for (let i = 1; i < requests.length; i++)
    if ((requests[i] as LoggedRequest).at < (requests[i - 1] as LoggedRequest).at) return false
  return true
}
