// The minutes with the most denials. A log in order needs one minute at a time; a few thousand are held, for lines that
// come late.

import type { SeriesStep } from "../model/report.js"

const MINUTE = 60_000
const MOST_HELD = 4_096
export const WORST_SHOWN = 10

interface Minute {
  readonly at: number
  requests: number
  denied: number
  shadowDenied: number
}

export class WorstMinutes {
  #minutes = new Map<number, Minute>()
  #minute: Minute | undefined
  #worst: Minute[] = []

  add(at: number, denied: number, shadowDenied: number): void {
    const start = at - (at % MINUTE)
    if (this.#minute?.at !== start) this.#minute = this.#minuteAt(start)
    this.#minute.requests++
    this.#minute.denied += denied
    this.#minute.shadowDenied += shadowDenied
  }

  /** The worst first; of two alike, the earlier. */
  get worst(): SeriesStep[] {
    return this.#worstOf([...this.#minutes.values()])
  }

  #minuteAt(start: number): Minute {
    const held = this.#minutes.get(start)
    if (held !== undefined) return held
    if (this.#minutes.size >= MOST_HELD) this.#letGo()
    const minute = { at: start, requests: 0, denied: 0, shadowDenied: 0 }
    this.#minutes.set(start, minute)
    return minute
  }

  /** The older half is over, but for lines that are very late. */
  #letGo(): void {
    const minutes = [...this.#minutes.values()].sort((a, b) => a.at - b.at)
    const kept = minutes.splice(MOST_HELD / 2)
    this.#worst = this.#worstOf(minutes)
    this.#minutes = new Map(kept.map((minute) => [minute.at, minute]))
  }

  #worstOf(minutes: readonly Minute[]): Minute[] {
    return [...this.#worst, ...minutes]
      .filter(({ denied, shadowDenied }) => denied + shadowDenied > 0)
      .sort((a, b) => b.denied - a.denied || b.shadowDenied - a.shadowDenied || a.at - b.at)
      .slice(0, WORST_SHOWN)
  }
}
