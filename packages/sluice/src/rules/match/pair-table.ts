import { HASH_START, hashFurther } from "./text-hash.js"
import { NONE, placesFor } from "./text-table.js"

/** Words of a slot: the pair, and the number under it. A fourth, unused, keeps a slot within one line of the cache. */
const SLOT = 4

/** Numbers under pairs of numbers, in one array. None is negative. */
export class PairTable {
  readonly #slots: Int32Array
  readonly #mask: number

  /** No pair twice. */
  constructor(entries: readonly (readonly [a: number, b: number, value: number])[]) {
    this.#slots = new Int32Array(placesFor(entries.length) * SLOT).fill(NONE)
    this.#mask = this.#slots.length - 1
    for (const entry of entries) {
      let at = this.#firstPlace(entry[0], entry[1])
      while (this.#slots[at] !== NONE) at = (at + SLOT) & this.#mask
      this.#slots.set(entry, at)
    }
  }

  find(a: number, b: number): number {
    const slots = this.#slots
    for (let at = this.#firstPlace(a, b); ; at = (at + SLOT) & this.#mask) {
      if (slots[at] === NONE || (slots[at] === a && slots[at + 1] === b)) return slots[at + 2] as number
    }
  }

  #firstPlace(a: number, b: number): number {
    return Math.imul(hashFurther(hashFurther(HASH_START, a), b), SLOT) & this.#mask
  }
}
