/** Upper bounds of durations in milliseconds. A decision takes a few microseconds in memory and about a millisecond in Redis. */
export const DURATION_BOUNDS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000,
]

/** Counts values by upper bounds. */
export class Histogram {
  readonly bounds: readonly number[]
  /** One count for each bound, and one for larger values. */
  readonly counts: Float64Array
  sum = 0

  constructor(bounds: readonly number[] = DURATION_BOUNDS) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  add(value: number): void {
    const { bounds } = this
    let at = 0
    // A linear search: nearly all values are below the first bounds.
    while (at < bounds.length && value > (bounds[at] as number)) at++
    this.counts[at] = (this.counts[at] as number) + 1
    this.sum += value
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }

  merge(counts: ArrayLike<number>, sum: number): void {
    for (let i = 0; i < this.counts.length; i++)
      this.counts[i] = (this.counts[i] as number) + (counts[i] ?? 0)
    this.sum += sum
  }

  /** The bound below which this share of the values lies. Infinity beyond the last bound, undefined without values. */
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
