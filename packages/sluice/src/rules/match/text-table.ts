// Numbers under texts, made once and looked up on every request. With ten thousand texts a lookup in a Map mostly waits for
// memory: for the chain of entries, then for the string of each, its hash and its characters. Here all of that is side by
// side in one slot, so that a lookup waits once.
//
// One table serves many nodes of an index, each with texts of its own: what thousands of small tables have to be found by
// would be as much again to wait for.

import { hashFurther } from "./text-hash.js"
import { CHARACTERS_PER_WORD, hashInWords, MOST_WORDS, textWords } from "./text-words.js"

/** What is found under a text that is not there. The numbers in a table are never negative. */
export const NONE = -1

/** Words of a slot before the characters: the hash of text and node together, the number, the node, and the length. */
const HEAD = 4

export interface TextEntry {
  readonly node: number
  readonly text: string
  readonly number: number
}

export class TextTable {
  readonly #slots: Int32Array
  /** Words of a slot: as many as the longest text needs, but no more than a line of the cache has. */
  readonly #width: number
  readonly #mask: number
  /** Texts that cannot be packed. A slot has their place here, with all bits turned, where others have the length. */
  readonly #unpacked: string[] = []
  /** The length of the longest text: a longer one need not be looked for. */
  readonly longest: number

  /** No text twice for a node. `hashOf` is the hash by which `find` will be asked; `findWhole` has its own. */
  constructor(entries: readonly TextEntry[], hashOf: (text: string) => number = hashInWords) {
    this.longest = entries.reduce((longest, { text }) => Math.max(longest, text.length), 0)
    this.#width = HEAD + Math.min(Math.ceil(this.longest / CHARACTERS_PER_WORD), MOST_WORDS)
    const places = placesFor(entries.length)
    this.#slots = new Int32Array(places * this.#width).fill(NONE)
    this.#mask = places - 1
    for (const entry of entries) this.#put(entry, hashFurther(hashOf(entry.text), entry.node))
  }

  #put({ node, text, number }: TextEntry, hash: number): void {
    let at = (hash & this.#mask) * this.#width
    while (this.#slots[at + 1] !== NONE) at = (at + this.#width) % this.#slots.length
    textWords.pack(text, 0, text.length)
    const length = textWords.isPacked ? text.length : ~(this.#unpacked.push(text) - 1)
    const slots = this.#slots
    slots[at] = hash
    slots[at + 1] = number
    slots[at + 2] = node
    slots[at + 3] = length
    const { words } = textWords
    for (let i = HEAD; i < this.#width; i++) slots[at + i] = words[i - HEAD] as number
  }

  /** The number that a node has under a text, or `NONE`. */
  findWhole(node: number, text: string): number {
    if (text.length > this.longest) return NONE
    const slots = this.#slots
    const width = this.#width
    const both = hashFurther(textWords.pack(text, 0, text.length), node)
    let at = (both & this.#mask) * width
    for (;;) {
      const number = slots[at + 1] as number
      if (number === NONE) return NONE
      if (slots[at] === both && slots[at + 2] === node && this.#isPackedAt(at, text)) return number
      at += width
      if (at === slots.length) at = 0
    }
  }

  /** The same for the part of a text from `from` up to `to`, which has this hash. */
  find(node: number, hash: number, text: string, from: number, to: number): number {
    const slots = this.#slots
    const width = this.#width
    const both = hashFurther(hash, node)
    let at = (both & this.#mask) * width
    for (;;) {
      const number = slots[at + 1] as number
      if (number === NONE) return NONE
      if (slots[at] === both && slots[at + 2] === node && this.#isAt(at, text, from, to)) return number
      at += width
      if (at === slots.length) at = 0
    }
  }

  /** Whether a text that has just been packed is the one of a slot. */
  #isPackedAt(at: number, text: string): boolean {
    const slots = this.#slots
    const length = slots[at + 3] as number
    if (!textWords.isPacked) return length < 0 && text === this.#unpacked[~length]
    if (length !== text.length) return false
    const { words } = textWords
    const count = (length + CHARACTERS_PER_WORD - 1) >> 2
    for (let i = 0; i < count; i++) if (slots[at + HEAD + i] !== words[i]) return false
    return true
  }

  #isAt(at: number, text: string, from: number, to: number): boolean {
    const slots = this.#slots
    const length = slots[at + 3] as number
    if (length < 0) return text.slice(from, to) === this.#unpacked[~length]
    if (length !== to - from) return false
    const start = at + HEAD
    for (let i = 0; i < length; i++) {
      const code = ((slots[start + (i >> 2)] as number) >> ((i & 3) << 3)) & 0xff
      if (text.charCodeAt(from + i) !== code) return false
    }
    return true
  }
}

/** A power of two. A third stays empty at least: fuller, lookups pass more slots; emptier, fewer slots are in the cache. */
function placesFor(count: number): number {
  return 2 ** Math.ceil(Math.log2(count * 1.5 + 2))
}
