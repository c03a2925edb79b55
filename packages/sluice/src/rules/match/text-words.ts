// The characters of a text as a table of texts has them: four in a word, each a byte. A text is read once, hashed by the
// way, and compared as words. Reading a character takes longer than what is done with it, and four take one multiplication.

import { HASH_START, hashForward, hashFurther } from "./text-hash.js"

export const CHARACTERS_PER_WORD = 4
/** Texts of more words are not packed. */
export const MOST_WORDS = 12

export class TextWords {
  /** Of the text that was packed last, the first character in the lowest byte of the first. */
  readonly words = new Int32Array(MOST_WORDS)
  /** Whether it could be packed: it was short enough, and all of its characters were Latin-1. */
  isPacked = false

  /** Packs the part of a text from `from` up to `to`, and gives its hash, whether it could be packed or not. */
  pack(text: string, from: number, to: number): number {
    this.isPacked = false
    if (to - from > MOST_WORDS * CHARACTERS_PER_WORD) return hashForward(HASH_START, text, from, to)
    const { words } = this
    let hash = HASH_START
    let all = 0
    let word = 0
    let i = from
    for (; i + 3 < to; i += 4) {
      const a = text.charCodeAt(i)
      const b = text.charCodeAt(i + 1)
      const c = text.charCodeAt(i + 2)
      const d = text.charCodeAt(i + 3)
      all |= a | b | c | d
      const packed = a | (b << 8) | (c << 16) | (d << 24)
      words[word++] = packed
      hash = hashFurther(hash, packed)
    }
    if (i < to) {
      let packed = 0
      for (let shift = 0; i < to; i++, shift += 8) {
        const code = text.charCodeAt(i)
        all |= code
        packed |= code << shift
      }
      words[word] = packed
      hash = hashFurther(hash, packed)
    }
    // Larger codes run into each other: hashed like this, texts could be found that share a hash under every key.
    if (all > 0xff) return hashForward(HASH_START, text, from, to)
    this.isPacked = true
    return hash
  }
}

/** One for all: what is packed is looked up at once. */
export const textWords = new TextWords()

export function hashInWords(text: string): number {
  return textWords.pack(text, 0, text.length)
}
