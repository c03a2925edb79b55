// Numbers under texts, made once and looked up on every request. With ten thousand texts a lookup in a Map mostly waits for
// memory: for the chain of entries, then for the string of each, its hash and its characters. Here it reads a slot and,
// where the hash is the same, the characters, which are side by side in one array. The number is in the slot, so that what
// it leads to is on its way from memory while the characters are compared.
//
// One table serves many nodes of an index, each with texts of its own: what thousands of small tables have to be found by
// would be as much again to wait for, and texts that are the same have their characters once.

import { hashFurther } from "./text-hash.js"

/** What is found under a text that is not there. The numbers in a table are never negative. */
export const NONE = -1

/** Words of a slot: the hash of text and node together, the number, the node, and where the characters are. */
const SLOT = 4
/** Before the characters: how many there are, in two halves. */
const HEAD = 2

export interface TextEntry {
  readonly node: number
  readonly text: string
  readonly number: number
}

export class TextTable {
  readonly #slots: Int32Array
  readonly #mask: number
  readonly #characters: Uint16Array
  /** The length of the longest text: a longer one need not be looked for. */
  readonly longest: number

  /** No text twice for a node. `hashOf` is the hash by which texts will be looked for. */
  constructor(entries: readonly TextEntry[], hashOf: (text: string) => number) {
    this.#slots = new Int32Array(placesFor(entries.length) * SLOT).fill(NONE)
    this.#mask = this.#slots.length - 1
    const texts = new Map<string, number>()
    let end = 0
    let longest = 0
    for (const { text } of entries) {
      if (texts.has(text)) continue
      texts.set(text, end)
      end += HEAD + text.length
      longest = Math.max(longest, text.length)
    }
    this.longest = longest
    this.#characters = new Uint16Array(end)
    for (const [text, start] of texts) this.#write(text, start)
    for (const { node, text, number } of entries) {
      this.#put([hashFurther(hashOf(text), node), number, node, texts.get(text) as number])
    }
  }

  #write(text: string, start: number): void {
    this.#characters[start] = text.length
    this.#characters[start + 1] = text.length >>> 16
    for (let i = 0; i < text.length; i++) this.#characters[start + HEAD + i] = text.charCodeAt(i)
  }

  #put(slot: readonly [hash: number, number: number, node: number, start: number]): void {
    let at = Math.imul(slot[0], SLOT) & this.#mask
    while (this.#slots[at + 1] !== NONE) at = (at + SLOT) & this.#mask
    this.#slots.set(slot, at)
  }

  /** The number that a node has under the part of a text from `from` up to `to`, which has this hash, or `NONE`. */
  find(node: number, hash: number, text: string, from: number, to: number): number {
    const slots = this.#slots
    const mask = this.#mask
    const both = hashFurther(hash, node)
    for (let at = Math.imul(both, SLOT) & mask; ; at = (at + SLOT) & mask) {
      const number = slots[at + 1] as number
      if (number === NONE) return NONE
      if (slots[at] !== both || slots[at + 2] !== node) continue
      if (this.#isAt(slots[at + 3] as number, text, from, to)) return number
    }
  }

  #isAt(start: number, text: string, from: number, to: number): boolean {
    const characters = this.#characters
    const length = (characters[start] as number) | ((characters[start + 1] as number) << 16)
    if (length !== to - from) return false
    const shift = start + HEAD - from
    for (let i = from; i < to; i++) if (characters[shift + i] !== text.charCodeAt(i)) return false
    return true
  }
}

/** A power of two. A third stays empty at least: fuller, lookups pass more slots; emptier, fewer slots are in the cache. */
function placesFor(count: number): number {
  return 2 ** Math.ceil(Math.log2(count * 1.5 + 2))
}
