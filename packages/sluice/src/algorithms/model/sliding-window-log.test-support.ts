import type { Model } from "./model.test-support.js"
import { max, min } from "./model.test-support.js"

type Entries = readonly { readonly time: bigint; readonly units: bigint }[]

/** What was charged, oldest first, and the window it was last settled for. */
interface Log {
  readonly entries: Entries
  readonly window: bigint
}

export const slidingWindowLogModel: Model<Log> = {
  settle(terms, state, now) {
    const { window } = terms
    const newest = state?.entries.at(-1)?.time
    if (state === undefined || newest === undefined) return { entries: [], window }
    // What had left the window it was charged under does not come back with a longer one.
    const span = min(window, state.window)
    const live = (t: bigint) => state.entries.filter((entry) => t - entry.time < span)
    // Written by a clock that was wrong: what counted then counts as if charged now.
    if (newest - now > window) return { entries: [{ time: now, units: sum(live(newest)) }], window }
    return { entries: live(max(now, newest)), window }
  },
  used: (_terms, state) => sum(state.entries),
  fits: (terms, state, cost) => sum(state.entries) + cost <= terms.limit,
  add: (_terms, { entries, window }, cost, now) => ({
    entries: [...entries, { time: max(now, entries.at(-1)?.time ?? now), units: cost }],
    window,
  }),
  /** The contract does not say which units a refund takes. The code's choice: the newest. */
  take(_terms, { entries, window }, cost) {
    let left = cost
    const rest = entries
      .toReversed()
      .map(({ time, units }) => {
        const taken = min(left, units)
        left -= taken
        return { time, units: units - taken }
      })
      .filter((entry) => entry.units > 0n)
      .reverse()
    return { entries: rest, window }
  },
}

function sum(entries: Entries): bigint {
  return entries.reduce((total, entry) => total + entry.units, 0n)
}
