// What was last heard of each key, for the day the store cannot be asked. Bounded and flat: four places per set, the
// oldest gives way. A key in use writes itself again with every check, so a flood of new keys only displaces idle ones.

const WAYS = 4

export class Seeds {
  /** Units charged, and when, of the entry found last. */
  units = 0
  time = 0
  readonly #mask: number
  /** Two words of hash per place, both zero when free. */
  readonly #hashes: Int32Array
  /** Units and time per place. */
  readonly #values: Float64Array

  constructor(mostKeys: number) {
    let sets = 1
    while (sets * WAYS < mostKeys) sets *= 2
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
      // A free place has the time 0, older than any other.
      if ((values[i + 1] as number) < (values[place + 1] as number)) place = i
    }
    hashes[place] = low
    hashes[place + 1] = high
    values[place] = units
    values[place + 1] = time
  }

  /** Finds an entry, leaves its numbers in `units` and `time`, and forgets it. False when there is none. */
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
