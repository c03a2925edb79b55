// Many globs that are tried on one text. They are filed under what they begin with and what they end with, so that of
// `tenant-1-*`, `tenant-2-*` and ten thousand more only those are tried that can match. Globs that begin and end alike
// and differ between their stars only are tried one after the other.
//
// Filed under numbers and not under the texts: to look up a text's beginnings of five lengths takes one walk along it, and
// not five strings. Two that share a number are both tried, so a number decides nothing.

import { type Glob, matchesGlob } from "./glob.js"

/** A glob and what is stored under it, in one object: with thousands of globs nearly all time is spent waiting for memory. */
interface Entry<T> extends Glob {
  readonly value: T
}

/** Several globs under one number: by what they end with. */
class Crowd<T> {
  readonly byLast = new Map<number, Entry<T>[]>()

  add(entry: Entry<T>): void {
    const hash = hashOfEnd(entry)
    const alike = this.byLast.get(hash)
    if (alike === undefined) this.byLast.set(hash, [entry])
    else alike.push(entry)
  }
}

export class GlobTable<T> {
  readonly #byFirst = new Map<number, Entry<T> | Crowd<T>>()
  /** The different lengths of beginnings and ends, ascending: at most as many as a glob has characters. */
  readonly #firstLengths: number[] = []
  readonly #lastLengths: number[] = []
  /** Globs that end alike share the text, which then is at hand whichever is tried. */
  readonly #ends = new Map<string, string>()

  get isEmpty(): boolean {
    return this.#firstLengths.length === 0
  }

  /** What is stored under a glob, made if there is nothing yet. */
  at(glob: Glob, make: () => T): T {
    const hash = hashForward(0, glob.first, 0, glob.first.length)
    const filed = this.#byFirst.get(hash)
    const known = filed instanceof Crowd ? filed.byLast.get(hashOfEnd(glob)) : filed && [filed]
    const same = known?.find(({ text }) => text === glob.text)
    if (same !== undefined) return same.value
    const entry = this.#entry(glob, make())
    if (filed instanceof Crowd) filed.add(entry)
    else if (filed === undefined) this.#byFirst.set(hash, entry)
    else {
      const crowd = new Crowd<T>()
      crowd.add(filed)
      crowd.add(entry)
      this.#byFirst.set(hash, crowd)
    }
    return entry.value
  }

  #entry({ text, first, middle, last }: Glob, value: T): Entry<T> {
    addLength(this.#firstLengths, first.length)
    addLength(this.#lastLengths, last.length)
    const end = this.#ends.get(last) ?? last
    this.#ends.set(end, end)
    return { first, middle: middle.length === 0 ? NONE : middle, last: end, value, text }
  }

  /** What is stored under each glob that matches. */
  find(text: string): T[] {
    const found: T[] = []
    let hash = 0
    let behind = 0
    for (const length of this.#firstLengths) {
      if (length > text.length) break
      hash = hashForward(hash, text, behind, length)
      behind = length
      const filed = this.#byFirst.get(hash)
      if (filed === undefined) continue
      if (filed instanceof Crowd) this.#findByLast(filed, text, found)
      else if (matchesGlob(filed, text)) found.push(filed.value)
    }
    return found
  }

  #findByLast({ byLast }: Crowd<T>, text: string, found: T[]): void {
    let hash = 0
    let ahead = text.length
    for (const length of this.#lastLengths) {
      if (length > text.length) break
      hash = hashBackward(hash, text, ahead, text.length - length)
      ahead = text.length - length
      const alike = byLast.get(hash)
      if (alike === undefined) continue
      for (const entry of alike) if (matchesGlob(entry, text)) found.push(entry.value)
    }
  }
}

const NONE: readonly string[] = []

function addLength(lengths: number[], length: number): void {
  if (lengths.includes(length)) return
  lengths.push(length)
  lengths.sort((a, b) => a - b)
}

function hashOfEnd({ last }: Glob): number {
  return hashBackward(0, last, last.length, 0)
}

/** Goes on with a hash over the characters from `from` up to `to`. */
function hashForward(hash: number, text: string, from: number, to: number): number {
  let next = hash
  for (let i = from; i < to; i++) next = Math.imul(next ^ text.charCodeAt(i), FNV_PRIME)
  return next
}

/** The same from the end: over those before `from`, down to `to`. */
function hashBackward(hash: number, text: string, from: number, to: number): number {
  let next = hash
  for (let i = from - 1; i >= to; i--) next = Math.imul(next ^ text.charCodeAt(i), FNV_PRIME)
  return next
}

const FNV_PRIME = 0x01000193
