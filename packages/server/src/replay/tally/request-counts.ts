// Counts requests per client in a hash table of typed arrays: 16 bytes per client and one memory access per request. A Map of names
// took an eighth of the time of a replay. In a log with a million clients, two share a 64-bit hash once in 40 million logs.

import { DistinctCount, high, low, setHash } from "./distinct-count.js"

/** The most clients that are counted. The number of further ones is estimated. */
const MAX_CLIENTS = 1_000_000
const SMALLEST = 4_096

export class RequestCounts {
  readonly #most: number
  #slots = SMALLEST
  /** Each slot holds the two halves of a hash and a count. A count of 0 is a free slot. */
  #cells = new Uint32Array(SMALLEST * 4)
  #size = 0
  #beyond: DistinctCount | undefined

  constructor(most = MAX_CLIENTS) {
    this.#most = most
  }

  add(name: string): void {
    setHash(name)
    const at = this.#find()
    if (this.#cells[at + 2] === 0 && !this.#claim(at)) return
    ;(this.#cells[at + 2] as number)++
  }

  /** The requests of a client, or 0 if it is not counted. */
  of(name: string): number {
    setHash(name)
    return this.#cells[this.#find() + 2] as number
  }

  get size(): number {
    return this.#beyond === undefined ? this.#size : this.#size + this.#beyond.estimate
  }

  get isExact(): boolean {
    return this.#beyond === undefined
  }

  /** The slot of a hash, or the free slot for it. */
  #find(): number {
    const cells = this.#cells
    const mask = this.#slots - 1
    let slot = low & mask
    for (;;) {
      const at = slot * 4
      if (cells[at + 2] === 0 || (cells[at] === low && cells[at + 1] === high)) return at
      slot = (slot + 1) & mask
    }
  }

  #claim(at: number): boolean {
    if (this.#size >= this.#most) {
      this.#beyond ??= new DistinctCount()
      this.#beyond.addHash()
      return false
    }
    this.#cells[at] = low
    this.#cells[at + 1] = high
    this.#size++
    // The table is at most half full, so a look-up rarely needs a second slot.
    if (this.#size * 2 > this.#slots) {
      ;(this.#cells[at + 2] as number)++
      this.#grow()
      return false
    }
    return true
  }

  #grow(): void {
    const cells = this.#cells
    this.#slots *= 2
    this.#cells = new Uint32Array(this.#slots * 4)
    const mask = this.#slots - 1
    for (let from = 0; from < cells.length; from += 4) {
      if (cells[from + 2] === 0) continue
      let slot = (cells[from] as number) & mask
      while (this.#cells[slot * 4 + 2] !== 0) slot = (slot + 1) & mask
      this.#cells.set(cells.subarray(from, from + 3), slot * 4)
    }
  }
}
