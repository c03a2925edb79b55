// A peak meter for every key. If there are too many keys, it follows an even sample: the keys whose hash ends in enough zeros. So a
// key is followed from its first request to its last, or not at all.

import type { Distinct } from "../model/report.js"
import { DistinctCount, low, setHash } from "../tally/distinct-count.js"
import type { PeakMeter } from "./peak-meter.js"

const MAX_KEYS = 200_000

export class PeakTable {
  readonly #meterOf: () => PeakMeter
  readonly #most: number
  readonly #meters = new Map<string, PeakMeter>()
  readonly #all = new DistinctCount()
  /** One in 2^n keys is followed. */
  #sampling = 0

  constructor(meterOf: () => PeakMeter, most = MAX_KEYS) {
    this.#meterOf = meterOf
    this.#most = most
  }

  request(key: string, micros: number): void {
    let meter = this.#meters.get(key)
    if (meter === undefined) {
      this.#all.add(key)
      if (!this.#isSampled(key)) return
      meter = this.#meterOf()
      this.#meters.set(key, meter)
      if (this.#meters.size > this.#most) this.#sampleFewer()
    }
    meter.request(micros)
  }

  get keys(): Distinct {
    return this.#sampling === 0
      ? { count: this.#meters.size, exact: true }
      : { count: this.#all.estimate, exact: false }
  }

  /** The peaks, lowest first. */
  get peaks(): number[] {
    return [...this.#meters.values()].map(({ peak }) => peak).sort((a, b) => a - b)
  }

  #isSampled(key: string): boolean {
    if (this.#sampling === 0) return true
    setHash(key)
    return low % 2 ** this.#sampling === 0
  }

  #sampleFewer(): void {
    this.#sampling++
    for (const key of this.#meters.keys()) if (!this.#isSampled(key)) this.#meters.delete(key)
  }
}
