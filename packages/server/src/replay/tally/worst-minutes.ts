// Finds the minutes with the most denials. A sorted log needs only one minute at a time; a few thousand are kept for late lines.

import type { SeriesStep } from "../model/report.js"

const MINUTE = 60_000
const MAX_HELD = 4_096
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

  /** The worst minutes first. Of two equal ones, the earlier comes first. */
  get worst(): SeriesStep[] {
    return this.#worstOf([...this.#minutes.values()])
  }

  #minuteAt(start: number): Minute {
    const held = this.#minutes.get(start)
    if (held !== undefined) return held
    if (this.#minutes.size >= MAX_HELD) this.#dropOlder()
    const minute = { at: start, requests: 0, denied: 0, shadowDenied: 0 }
    this.#minutes.set(start, minute)
    return minute
  }

  /** Drops the older half. Only very late lines could still change it. */
  #dropOlder(): void {
    const minutes = [...this.#minutes.values()].sort((a, b) => a.at - b.at)
    const kept = minutes.splice(MAX_HELD / 2)
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
