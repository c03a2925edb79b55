// Many globs that are tried on one text. They are filed under what they begin with and what they end with, so that of
// `tenant-1-*`, `tenant-2-*` and ten thousand more only those are tried that can match. Globs that begin and end alike
// and differ between their stars only are tried one after the other.

import { type Glob, matchesGlob } from "./glob.js"

interface Entry<T> {
  readonly glob: Glob
  readonly value: T
}

/** The globs of one beginning: by what they end with, once there are two. */
interface Beginning<T> {
  readonly only: Entry<T>
  byLast: Map<string, Entry<T>[]> | undefined
}

export class GlobTable<T> {
  readonly #byFirst = new Map<string, Beginning<T>>()
  /** The different lengths of beginnings and ends: at most as many as a glob has characters. */
  readonly #firstLengths: number[] = []
  readonly #lastLengths: number[] = []

  get isEmpty(): boolean {
    return this.#firstLengths.length === 0
  }

  /** What is stored under a glob, made if there is nothing yet. */
  at(glob: Glob, make: () => T): T {
    const beginning = this.#byFirst.get(glob.first)
    if (beginning === undefined) {
      const only = this.#entry(glob, make)
      this.#byFirst.set(glob.first, { only, byLast: undefined })
      return only.value
    }
    const { only } = beginning
    beginning.byLast ??= new Map([[only.glob.last, [only]]])
    const alike = beginning.byLast.get(glob.last) ?? []
    beginning.byLast.set(glob.last, alike)
    let entry = alike.find((other) => other.glob.text === glob.text)
    if (entry === undefined) {
      entry = this.#entry(glob, make)
      alike.push(entry)
    }
    return entry.value
  }

  #entry(glob: Glob, make: () => T): Entry<T> {
    const { first, last } = glob
    if (!this.#firstLengths.includes(first.length)) this.#firstLengths.push(first.length)
    if (!this.#lastLengths.includes(last.length)) this.#lastLengths.push(last.length)
    return { glob, value: make() }
  }

  /** What is stored under each glob that matches. */
  find(text: string): T[] {
    const found: T[] = []
    for (const length of this.#firstLengths) {
      if (length > text.length) continue
      const beginning = this.#byFirst.get(text.slice(0, length))
      if (beginning === undefined) continue
      const { only, byLast } = beginning
      if (byLast !== undefined) this.#findByLast(byLast, text, found)
      else if (matchesGlob(only.glob, text)) found.push(only.value)
    }
    return found
  }

  #findByLast(byLast: ReadonlyMap<string, readonly Entry<T>[]>, text: string, found: T[]): void {
    for (const length of this.#lastLengths) {
      if (length > text.length) continue
      const alike = byLast.get(text.slice(text.length - length))
      if (alike === undefined) continue
      for (const { glob, value } of alike) if (matchesGlob(glob, text)) found.push(value)
    }
  }
}
