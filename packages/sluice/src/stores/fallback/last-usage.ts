// The last known usage of keys, for the time when the store cannot be asked. Bounded: a key may be in any of the four places
// of its set, and a new key replaces the oldest of the four. Every check of a key in use writes it again, so a flood of new
// keys replaces idle keys only.

const WAYS = 4

export class LastUsage {
  /** Units charged, and when, of the key that `take` found last. */
  units = 0
  time = 0
  readonly #mask: number
  /** The hash of a key in two words per place; both are zero if the place is free. */
  readonly #hashes: Int32Array
  /** Units and time per place. */
  readonly #values: Float64Array

  constructor(maxKeys: number) {
    let sets = 1
    while (sets * WAYS < maxKeys) sets *= 2
    this.#mask = sets - 1
    this.#hashes = new Int32Array(sets * WAYS * 2)
    this.#values = new Float64Array(sets * WAYS * 2)
  }

  put(low: number, high: number, units: number, time: number): void {
    const hashes = this.#hashes
    const values = this.#values
    const first = (low & this.#mask) * WAYS * 2
    let place = first
    for (let i = first; i < first + WAYS * 2; i += 2) {
      if (hashes[i] === low && hashes[i + 1] === high) {
        place = i
        break
      }
      // A free place has the time 0 and so counts as the oldest.
      if ((values[i + 1] as number) < (values[place + 1] as number)) place = i
    }
    hashes[place] = low
    hashes[place + 1] = high
    values[place] = units
    values[place + 1] = time
  }

  /** Removes a key and sets `units` and `time` to what was known of it. False if nothing is known. */
  take(low: number, high: number): boolean {
    const hashes = this.#hashes
    const first = (low & this.#mask) * WAYS * 2
    for (let i = first; i < first + WAYS * 2; i += 2) {
      if (hashes[i] !== low || hashes[i + 1] !== high) continue
      this.units = this.#values[i] as number
      this.time = this.#values[i + 1] as number
      hashes[i] = 0
      hashes[i + 1] = 0
      this.#values[i + 1] = 0
      return true
    }
    return false
  }
}
