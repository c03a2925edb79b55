import type { Model } from "./model.test-support.js"
import { max, min } from "./model.test-support.js"

/** What is held, the hold that ends first in front. */
type Holds = readonly { readonly end: bigint; readonly units: bigint }[]

export const concurrencyModel: Model<Holds> = {
  settle({ window }, state = [], now) {
    const held = state.filter((hold) => hold.end > now)
    // Written by a clock that was wrong, or under a longer hold: no hold lasts longer than one acquired now.
    const isAhead = lastEnd(state) - now > 2n * window
    return isAhead ? held.map(({ end, units }) => ({ end: min(end, now + window), units })) : held
  },
  used: (_terms, state) => sum(state),
  fits: (terms, state, cost) => sum(state) + cost <= terms.limit,
  add: ({ window }, state, cost, now) => [...state, { end: max(now + window, lastEnd(state)), units: cost }],
  /** Without the id of a hold: the units that would be held the longest. */
  take(_terms, state, cost) {
    let left = cost
    return state
      .toReversed()
      .map(({ end, units }) => {
        const taken = min(left, units)
        left -= taken
        return { end, units: units - taken }
      })
      .filter(({ units }) => units > 0n)
      .reverse()
  },
}

function lastEnd(state: Holds): bigint {
  return state.at(-1)?.end ?? 0n
}

function sum(state: Holds): bigint {
  return state.reduce((total, { units }) => total + units, 0n)
}
