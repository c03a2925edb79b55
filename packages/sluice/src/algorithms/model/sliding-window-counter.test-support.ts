import type { Model, Terms } from "./model.test-support.js"
import { max, min } from "./model.test-support.js"

interface Buckets {
  /** Where the newest bucket starts. */
  readonly start: bigint
  readonly size: bigint
  /** Newest first, one more than there are buckets in a window. */
  readonly counts: readonly bigint[]
}

export const slidingWindowCounterModel: Model<Buckets> = {
  settle(terms, state, now) {
    const size = terms.window / terms.buckets
    if (state === undefined || state.counts.every((count) => count === 0n)) return single(terms, now, 0n)
    // Written by a clock that was wrong: what counted then counts as if charged now.
    if (state.start - now > terms.window) return single(terms, now, estimate(state, state.start))
    const t = max(now, state.start)
    // The contract asks for no free reset. The code's choice: what counts goes into the newest bucket of the new length.
    if (state.size !== size) return single(terms, t, estimate(state, t))
    return moved(state, t)
  },
  used: (_terms, state, now) => estimate(state, max(now, state.start)),
  fits: (terms, state, cost, now) => estimate(state, max(now, state.start)) + cost <= terms.limit,
  add: (_terms, state, cost) => ({
    ...state,
    counts: state.counts.map((count, i) => (i === 0 ? count + cost : count)),
  }),
  /** The contract does not say which units a refund takes. The code's choice: the newest. */
  take(_terms, state, cost) {
    let left = cost
    const counts = state.counts.map((count) => {
      const taken = min(left, count)
      left -= taken
      return count - taken
    })
    return { ...state, counts }
  },
}

function single(terms: Terms, time: bigint, units: bigint): Buckets {
  const size = terms.window / terms.buckets
  const older = Array.from({ length: Number(terms.buckets) }, () => 0n)
  return { start: (time / size) * size, size, counts: [units, ...older] }
}

function moved(state: Buckets, t: bigint): Buckets {
  const steps = Math.min(Number((t - state.start) / state.size), state.counts.length)
  if (steps === 0) return state
  const fresh = Array.from({ length: steps }, () => 0n)
  const start = (t / state.size) * state.size
  return { ...state, start, counts: [...fresh, ...state.counts].slice(0, state.counts.length) }
}

/** used = floor(oldest × (S - offset) / S) + sum(newer buckets). */
function estimate(state: Buckets, t: bigint): bigint {
  const { start, size, counts } = moved(state, t)
  const oldest = counts.at(-1) ?? 0n
  const newer = counts.slice(0, -1).reduce((total, count) => total + count, 0n)
  return (oldest * (size - (t - start))) / size + newer
}
