// Numbers under texts, made once and looked up on every request. With ten thousand texts a lookup in a Map mostly waits for
// memory: for the chain of entries, then for the string of each, its hash and its characters. Here it reads a slot and,
// where the hash is the same, the characters, which are side by side in one array. The number is in the slot, so that what
// it leads to is on its way from memory while the characters are compared.

/** What is found under a text that is not there. The numbers in a table are never negative. */
export const NONE = -1

/** Words of a slot: the hash, the number, and where the characters begin and end. */
const SLOT = 4

export class TextTable {
  readonly #slots: Int32Array
  readonly #mask: number
  readonly #characters: Uint16Array
  /** The length of the longest text: a longer one need not be looked for. */
  readonly longest: number

  /** `hashOf` is the hash by which texts will be looked for. */
  constructor(numbers: ReadonlyMap<string, number>, hashOf: (text: string) => number) {
    this.#slots = new Int32Array(placesFor(numbers.size) * SLOT).fill(NONE)
    this.#mask = this.#slots.length - 1
    const lengths = [...numbers.keys()].map(({ length }) => length)
    this.#characters = new Uint16Array(lengths.reduce((sum, length) => sum + length, 0))
    this.longest = lengths.reduce((a, b) => Math.max(a, b), 0)
    let end = 0
    for (const [text, number] of numbers) {
      const start = end
      for (let i = 0; i < text.length; i++) this.#characters[end++] = text.charCodeAt(i)
      this.#put([hashOf(text), number, start, end])
    }
  }

  #put(slot: readonly [hash: number, number: number, start: number, end: number]): void {
    let at = Math.imul(slot[0], SLOT) & this.#mask
    while (this.#slots[at + 1] !== NONE) at = (at + SLOT) & this.#mask
    this.#slots.set(slot, at)
  }

  /** The number under the part of a text from `from` up to `to`, which has this hash, or `NONE`. */
  find(hash: number, text: string, from: number, to: number): number {
    const slots = this.#slots
    const mask = this.#mask
    for (let at = Math.imul(hash, SLOT) & mask; ; at = (at + SLOT) & mask) {
      const number = slots[at + 1] as number
      if (number === NONE) return NONE
      if (slots[at] !== hash) continue
      const start = slots[at + 2] as number
      if ((slots[at + 3] as number) - start === to - from && this.#isAt(start, text, from, to)) return number
    }
  }

  #isAt(start: number, text: string, from: number, to: number): boolean {
    const characters = this.#characters
    const shift = start - from
    for (let i = from; i < to; i++) if (characters[shift + i] !== text.charCodeAt(i)) return false
    return true
  }
}

/** A power of two. A third stays empty at least: fuller, lookups pass more slots; emptier, fewer slots are in the cache. */
export function placesFor(count: number): number {
  return 2 ** Math.ceil(Math.log2(count * 1.5 + 2))
}
