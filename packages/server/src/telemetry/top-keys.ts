// The busiest keys of a stream without end, in bounded memory: Space-Saving, a batch at a time.
//
// Space-Saving gives a new key the place of the least counted one, and its count as a head start, so that no key is ever
// counted too low. Here the lower half goes at once when there are twice as many as wanted: the same bound on the error, no
// list to keep in order, and a key that is already there costs one look-up.

export interface TopKey {
  readonly rule: string
  readonly key: string
  /** About how often; never too low. */
  readonly count: number
  /** By how much it may be too high. */
  readonly error: number
}

interface Counter {
  count: number
  error: number
}

/** Longer keys are cut: nobody reads them, and they come from outside. */
const LONGEST_KEY = 200

export class TopKeys {
  readonly #most: number
  readonly #rules = new Map<string, Map<string, Counter>>()
  #size = 0
  /** What the last one dropped had: what a key not held may have at most. */
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
    else this.#addNew(keys, key.length > LONGEST_KEY ? `${key.slice(0, LONGEST_KEY)}…` : key, units)
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

  /** Drops all but the highest. */
  #drop(): void {
    const counts = new Float64Array(this.#size)
    let i = 0
    for (const keys of this.#rules.values()) for (const { count } of keys.values()) counts[i++] = count
    counts.sort()
    const floor = counts[this.#size - this.#most - 1] as number
    // Many may have just the count of the floor; as many of them stay as there is room for.
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

  /** Halves everything, so that what was busy long ago makes way. */
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

  /** The highest first. */
  top(limit: number): TopKey[] {
    const all: TopKey[] = []
    for (const [rule, keys] of this.#rules)
      for (const [key, { count, error }] of keys)
        all.push({ rule, key, count: Math.round(count), error: Math.round(error) })
    return all.sort((a, b) => b.count - a.count).slice(0, Math.max(0, limit))
  }

  /** All of them, and starts anew: for a worker that hands them on. */
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
