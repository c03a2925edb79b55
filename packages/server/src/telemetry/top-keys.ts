// Finds the busiest keys of an endless stream in bounded memory, by the Space-Saving algorithm in batches.
//
// Space-Saving replaces the key with the lowest count by a new one and lets it inherit that count, so no key is ever counted too
// low. This form drops the lower half at once when there are twice as many keys as wanted. The error has the same bound, no list
// has to be kept sorted, and a known key costs one look-up.

export interface TopKey {
  readonly rule: string
  readonly key: string
  /** The estimated count. It is never too low. */
  readonly count: number
  /** How much too high the count may be. */
  readonly error: number
}

interface Counter {
  count: number
  error: number
}

/** Longer keys are cut, because clients choose them. */
const MAX_KEY_LENGTH = 200

export class TopKeys {
  readonly #most: number
  readonly #rules = new Map<string, Map<string, Counter>>()
  #size = 0
  /** The count of the last dropped key: no key that is not held has more. */
  #floor = 0

  constructor(most = 1_000) {
    this.#most = most
  }

  add(rule: string, key: string, units = 1): void {
    let keys = this.#rules.get(rule)
    if (keys === undefined) {
      keys = new Map()
      this.#rules.set(rule, keys)
    }
    const counter = keys.get(key)
    if (counter !== undefined) counter.count += units
    else this.#addNew(keys, key.length > MAX_KEY_LENGTH ? `${key.slice(0, MAX_KEY_LENGTH)}…` : key, units)
  }

  #addNew(keys: Map<string, Counter>, key: string, units: number): void {
    const cut = keys.get(key)
    if (cut !== undefined) {
      cut.count += units
      return
    }
    keys.set(key, { count: this.#floor + units, error: this.#floor })
    this.#size++
    if (this.#size >= 2 * this.#most) this.#drop()
  }

  /** Keeps only the keys with the highest counts. */
  #drop(): void {
    const counts = new Float64Array(this.#size)
    let i = 0
    for (const keys of this.#rules.values()) for (const { count } of keys.values()) counts[i++] = count
    counts.sort()
    const floor = counts[this.#size - this.#most - 1] as number
    // Many keys may have exactly the lowest count that stays. As many of them stay as there is room for.
    let room = this.#most - (this.#size - counts.findLastIndex((count) => count <= floor) - 1)
    for (const [rule, keys] of this.#rules) {
      for (const [key, { count }] of keys) {
        if (count > floor || (count === floor && room-- > 0)) continue
        keys.delete(key)
        this.#size--
      }
      if (keys.size === 0) this.#rules.delete(rule)
    }
    this.#floor = floor
  }

  /** Halves all counts, so that keys that were busy long ago fall behind. */
  decay(): void {
    for (const [rule, keys] of this.#rules) {
      for (const [key, counter] of keys) {
        counter.count /= 2
        counter.error /= 2
        if (counter.count >= 0.5) continue
        keys.delete(key)
        this.#size--
      }
      if (keys.size === 0) this.#rules.delete(rule)
    }
    this.#floor /= 2
  }

  /** The keys with the highest counts, highest first. */
  top(limit: number): TopKey[] {
    const all: TopKey[] = []
    for (const [rule, keys] of this.#rules)
      for (const [key, { count, error }] of keys)
        all.push({ rule, key, count: Math.round(count), error: Math.round(error) })
    return all.sort((a, b) => b.count - a.count).slice(0, Math.max(0, limit))
  }

  /** Returns all keys and starts again, for a worker that sends them to the primary. */
  take(): TopKey[] {
    const all = this.top(this.#most)
    this.#rules.clear()
    this.#size = 0
    this.#floor = 0
    return all
  }

  get size(): number {
    return this.#size
  }
}
