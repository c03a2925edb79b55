// Measures the peak of a client: the most that it requested in one window, as an algorithm counts it. That is the smallest limit
// that would never have denied the client. It is exact, because a client that is never denied is charged for all its requests.

import type { Calendar } from "sluice/internal"

export type RecommendedAlgorithm =
  | "sliding-window-counter"
  | "sliding-window-log"
  | "fixed-window"
  | "token-bucket"

export const RECOMMENDED_ALGORITHMS = [
  "sliding-window-counter",
  "sliding-window-log",
  "fixed-window",
  "token-bucket",
] as const satisfies readonly RecommendedAlgorithm[]

export interface PeakMeter {
  readonly peak: number
  /** Counts a request, in microseconds since 1970. Times must not decrease. */
  request(micros: number): void
}

/** `calendar` finds the windows of a fixed window with a calendar. */
export function peakMeter(
  algorithm: RecommendedAlgorithm,
  windowMicros: number,
  calendar?: Calendar,
): PeakMeter {
  switch (algorithm) {
    case "fixed-window":
      return new FixedPeak(
        calendar === undefined ? (micros) => Math.floor(micros / windowMicros) : startIn(calendar),
      )
    case "sliding-window-counter":
      return new CounterPeak(windowMicros)
    // A bucket with a burst of one window allows everything that the exact log allows, so the log's peak is always enough.
    default:
      return new LogPeak(windowMicros)
  }
}

/** When the window that contains a time began. */
function startIn(calendar: Calendar): (micros: number) => number {
  return (micros) => {
    calendar.find(micros)
    return calendar.start
  }
}

class FixedPeak implements PeakMeter {
  /** A number for each window, which grows with time. */
  readonly #indexOf: (micros: number) => number
  #index = -1
  #count = 0
  peak = 0

  constructor(indexOf: (micros: number) => number) {
    this.#indexOf = indexOf
  }

  request(micros: number): void {
    const index = Math.max(this.#index, this.#indexOf(micros))
    this.#count = index === this.#index ? this.#count + 1 : 1
    this.#index = index
    if (this.#count > this.peak) this.peak = this.#count
  }
}

class CounterPeak implements PeakMeter {
  readonly #window: number
  #index = -1
  #previous = 0
  #current = 0
  #last = 0
  peak = 0

  constructor(window: number) {
    this.#window = window
  }

  request(micros: number): void {
    this.#last = Math.max(this.#last, micros)
    const index = Math.floor(this.#last / this.#window)
    if (index !== this.#index) {
      this.#previous = index === this.#index + 1 ? this.#current : 0
      this.#current = 0
      this.#index = index
    }
    const left = this.#window - (this.#last % this.#window)
    this.#current++
    const used = Math.floor((this.#previous * left) / this.#window) + this.#current
    if (used > this.peak) this.peak = used
  }
}

/** The most distinct times per client. If a window has more, times within 1/512 of it are merged into the last one. */
const MAX_TIMES = 1_024
const SLOTS = 512

class LogPeak implements PeakMeter {
  readonly #window: number
  #times: number[] = []
  #counts: number[] = []
  /** The index of the first time inside the window. */
  #first = 0
  #used = 0
  /** Times within one slot are merged. 1 keeps each time. */
  #slot = 1
  peak = 0

  constructor(window: number) {
    this.#window = window
  }

  request(micros: number): void {
    const now = Math.max(micros, this.#times.at(-1) ?? 0)
    this.#put(now, 1)
    this.#used++
    while (now - (this.#times[this.#first] as number) >= this.#window)
      this.#used -= this.#counts[this.#first++] as number
    if (this.#used > this.peak) this.peak = this.#used
    if (this.#times.length > MAX_TIMES) this.#shrink()
  }

  #put(time: number, count: number): void {
    const last = this.#times.length - 1
    const isSame = last >= this.#first && this.#slotOf(this.#times[last] as number) === this.#slotOf(time)
    if (isSame) {
      this.#times[last] = time
      this.#counts[last] = (this.#counts[last] as number) + count
    } else {
      this.#times.push(time)
      this.#counts.push(count)
    }
  }

  #slotOf(time: number): number {
    return Math.floor(time / this.#slot)
  }

  #shrink(): void {
    const times = this.#times.slice(this.#first)
    const counts = this.#counts.slice(this.#first)
    if (times.length > MAX_TIMES / 2) this.#slot = this.#window / SLOTS
    this.#times = []
    this.#counts = []
    this.#first = 0
    for (let i = 0; i < times.length; i++) this.#put(times[i] as number, counts[i] as number)
  }
}
