// Many globs that are tried on one text. They are filed under what they begin with, and those that begin alike under what
// they end with, so that of `tenant-1-*`, `tenant-2-*` and ten thousand more only those are tried that can match. Globs
// that begin and end alike and differ between their stars only are tried one after the other.

import { type Glob, matchesGlob } from "./glob.js"
import { HASH_START, hashBackward, hashForward, hashFromEnd, hashFromStart } from "./text-hash.js"
import { NONE, TextTable } from "./text-table.js"

/** A glob and the number that is found under it. */
export interface GlobEntry {
  readonly glob: Glob
  readonly value: number
}

/** Words of a glob: its number, the place of what it ends with, and its own place if it has more than these two pieces. */
const WORDS = 4
const LAST = 1
const WHOLE = 2

/** A table of texts is for many nodes; here it has one. */
const NODE = 0

export class GlobTable {
  /** Twice the place of the only glob that begins so, or twice the place of a crowd, and one. */
  readonly #byFirst: TextTable
  readonly #firstLengths: readonly number[]
  readonly #words: Int32Array
  readonly #lasts: readonly string[]
  readonly #wholes: readonly GlobEntry[]
  readonly #crowds: readonly Crowd[]

  /** No glob twice. */
  constructor(entries: readonly GlobEntry[]) {
    const lasts = new Map<string, number>()
    this.#words = new Int32Array(entries.length * WORDS)
    entries.forEach(({ glob, value }, place) => {
      if (!lasts.has(glob.last)) lasts.set(glob.last, lasts.size)
      const more = glob.middle.length === 0 ? NONE : place
      this.#words.set([value, lasts.get(glob.last) as number, more], place * WORDS)
    })
    this.#lasts = [...lasts.keys()]
    this.#wholes = entries
    const crowds: Crowd[] = []
    const byFirst = new Map<string, number>()
    for (const [first, places] of placesBy(entries, ({ glob }) => glob.first)) {
      const [only] = places as [number]
      if (places.length === 1) byFirst.set(first, 2 * only)
      else
        byFirst.set(first, 2 * crowds.push(new Crowd(places.map((place) => entries[place] as GlobEntry))) - 1)
    }
    this.#crowds = crowds
    this.#byFirst = new TextTable(
      [...byFirst].map(([text, number]) => ({ node: NODE, text, number })),
      hashFromStart,
    )
    this.#firstLengths = lengthsOf(byFirst.keys())
  }

  /** Adds the number of each glob that matches the part of a text from `from` up to `to`. */
  find(text: string, from: number, to: number, found: number[]): void {
    let hash = HASH_START
    let behind = from
    for (const length of this.#firstLengths) {
      const end = from + length
      if (end > to) return
      hash = hashForward(hash, text, behind, end)
      behind = end
      const filed = this.#byFirst.find(NODE, hash, text, from, end)
      if (filed === NONE) continue
      if (filed & 1) this.#crowds[filed >> 1]?.find(text, from, to, found)
      else this.#try(filed >> 1, text, from, end, to, found)
    }
  }

  /** Tries a glob of which the beginning is there, up to `end`. */
  #try(place: number, text: string, from: number, end: number, to: number, found: number[]): void {
    const at = place * WORDS
    const last = this.#lasts[this.#words[at + LAST] as number] as string
    if (to - last.length < end || !endsWith(text, to, last)) return
    const whole = this.#words[at + WHOLE] as number
    if (whole !== NONE && !matchesGlob((this.#wholes[whole] as GlobEntry).glob, text.slice(from, to))) return
    found.push(this.#words[at] as number)
  }
}

/** Globs that begin alike, by what they end with. */
class Crowd {
  readonly #byLast: TextTable
  readonly #lastLengths: readonly number[]
  readonly #alike: readonly (readonly GlobEntry[])[]

  constructor(entries: readonly GlobEntry[]) {
    const byLast = placesBy(entries, ({ glob }) => glob.last)
    this.#alike = [...byLast.values()].map((places) => places.map((place) => entries[place] as GlobEntry))
    this.#byLast = new TextTable(
      [...byLast.keys()].map((text, number) => ({ node: NODE, text, number })),
      hashFromEnd,
    )
    this.#lastLengths = lengthsOf(byLast.keys())
  }

  find(text: string, from: number, to: number, found: number[]): void {
    let hash = HASH_START
    let ahead = to
    for (const length of this.#lastLengths) {
      const start = to - length
      if (start < from) return
      hash = hashBackward(hash, text, ahead, start)
      ahead = start
      const alike = this.#byLast.find(NODE, hash, text, start, to)
      if (alike === NONE) continue
      const part = text.slice(from, to)
      for (const { glob, value } of this.#alike[alike] as readonly GlobEntry[]) {
        if (matchesGlob(glob, part)) found.push(value)
      }
    }
  }
}

function placesBy(
  entries: readonly GlobEntry[],
  textOf: (entry: GlobEntry) => string,
): Map<string, number[]> {
  const places = new Map<string, number[]>()
  entries.forEach((entry, place) => {
    const text = textOf(entry)
    const others = places.get(text)
    if (others === undefined) places.set(text, [place])
    else others.push(place)
  })
  return places
}

/** The different lengths, ascending: at most as many as a glob has characters. */
function lengthsOf(texts: Iterable<string>): number[] {
  return [...new Set([...texts].map(({ length }) => length))].sort((a, b) => a - b)
}

/** Whether the part of a text that ends at `to` ends with another, which is short: no call is faster than this. */
function endsWith(text: string, to: number, last: string): boolean {
  const start = to - last.length
  for (let i = 0; i < last.length; i++) if (text.charCodeAt(start + i) !== last.charCodeAt(i)) return false
  return true
}
