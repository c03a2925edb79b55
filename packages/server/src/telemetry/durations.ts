/** Upper bounds in milliseconds. A decision takes a few microseconds in memory and about a millisecond in Redis. */
export const BOUNDS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000,
]

/** A histogram of durations. */
export class Durations {
  readonly bounds: readonly number[]
  /** One count for each bound, and one for longer durations. */
  readonly counts: Float64Array
  sumMs = 0

  constructor(bounds: readonly number[] = BOUNDS) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  add(ms: number): void {
    const { bounds } = this
    let at = 0
    // A linear search: nearly all durations are below the first bounds.
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

  /** The bound below which this share of the durations lies. Infinity beyond the last bound, undefined without durations. */
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
