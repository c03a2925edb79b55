/** A key with more entries in a window is no longer watched. */
const MAX_ENTRIES = 10_000

/** The exact log of one key: its admitted units with their times. */
export class ExactLog {
  readonly windowMs: number
  readonly limit: number
  readonly #times: number[] = []
  readonly #costs: number[] = []
  #from = 0
  #used = 0

  constructor(limit: number, windowMs: number) {
    this.limit = limit
    this.windowMs = windowMs
  }

  /** How many units were charged less than a window ago. */
  usedAt(nowMs: number): number {
    while (this.#from < this.#times.length && nowMs - (this.#times[this.#from] as number) >= this.windowMs) {
      this.#used -= this.#costs[this.#from] as number
      this.#from++
    }
    if (this.#from > 1_000 && this.#from * 2 > this.#times.length) {
      this.#times.splice(0, this.#from)
      this.#costs.splice(0, this.#from)
      this.#from = 0
    }
    return this.#used
  }

  charge(cost: number, nowMs: number): void {
    this.#times.push(nowMs)
    this.#costs.push(cost)
    this.#used += cost
  }

  get isFull(): boolean {
    return this.#times.length - this.#from >= MAX_ENTRIES
  }
}
