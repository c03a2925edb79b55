/** Upper bounds in milliseconds. A decision in memory takes a few microseconds, one in Redis about a millisecond. */
export const BOUNDS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000,
]

/** A histogram of how long something took. */
export class Durations {
  readonly bounds: readonly number[]
  /** One for each bound, and one for what is longer than all. */
  readonly counts: Float64Array
  sumMs = 0

  constructor(bounds: readonly number[] = BOUNDS) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  add(ms: number): void {
    const { bounds } = this
    let at = 0
    // From below: nearly all are among the first.
    while (at < bounds.length && ms > (bounds[at] as number)) at++
    this.counts[at] = (this.counts[at] as number) + 1
    this.sumMs += ms
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  merge(counts: ArrayLike<number>, sumMs: number): void {
    for (let i = 0; i < this.counts.length; i++)
      this.counts[i] = (this.counts[i] as number) + (counts[i] ?? 0)
    this.sumMs += sumMs
  }

  /** The bound that a share of them stays below; undefined when there are none. Infinity beyond the last bound. */
  quantile(share: number): number | undefined {
    let left = this.count * share
    if (left === 0) return undefined
    for (let i = 0; i < this.bounds.length; i++) {
      left -= this.counts[i] as number
      if (left <= 0) return this.bounds[i]
    }
    return Number.POSITIVE_INFINITY
  }
}
