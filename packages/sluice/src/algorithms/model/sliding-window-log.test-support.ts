import type { Model } from "./model.test-support.js"
import { max, min } from "./model.test-support.js"

/** What was charged, oldest first. */
type Log = readonly { readonly time: bigint; readonly units: bigint }[]

export const slidingWindowLogModel: Model<Log> = {
  settle(terms, state, now) {
    const newest = state?.at(-1)?.time
    if (state === undefined || newest === undefined) return []
    const live = (t: bigint) => state.filter((entry) => t - entry.time < terms.window)
    // Written by a clock that was wrong: what counted then counts as if charged now.
    if (newest - now > terms.window) return [{ time: now, units: sum(live(newest)) }]
    return live(max(now, newest))
  },
  used: (_terms, state) => sum(state),
  fits: (terms, state, cost) => sum(state) + cost <= terms.limit,
  add: (_terms, state, cost, now) => [...state, { time: max(now, state.at(-1)?.time ?? now), units: cost }],
  /** The contract does not say which units a refund takes. The code's choice: the newest. */
  take(_terms, state, cost) {
    let left = cost
    return state
      .toReversed()
      .map(({ time, units }) => {
        const taken = min(left, units)
        left -= taken
        return { time, units: units - taken }
      })
      .filter((entry) => entry.units > 0n)
      .reverse()
  },
}

function sum(log: Log): bigint {
  return log.reduce((total, entry) => total + entry.units, 0n)
}
