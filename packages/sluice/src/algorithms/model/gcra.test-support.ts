import { MAX_DEBT } from "./bucket.test-support.js"
import type { Model } from "./model.test-support.js"
import { gcd, max, min } from "./model.test-support.js"

/** When the next request would be on time, and the clock it was set by. Both times the limit, so that both are whole. */
interface Arrival {
  readonly expected: bigint
  readonly time: bigint
}

/**
 * GCRA as its name says it, by the theoretical arrival time: a third way to the same decisions, knowing neither tokens
 * nor water. For a policy that does not change.
 */
export const gcraModel: Model<Arrival> = {
  drains: true,
  settle({ limit, window }, state, now) {
    if (state === undefined || state.expected <= state.time)
      return { expected: now * limit, time: now * limit }
    if (state.time - now * limit > window * limit) {
      return { expected: state.expected - state.time + now * limit, time: now * limit }
    }
    const time = max(now * limit, state.time)
    return { expected: max(state.expected, time), time }
  },
  used: ({ window }, state) => (state.expected - state.time + window - 1n) / window,
  fits: ({ window, capacity }, state, cost) =>
    state.expected + cost * window - state.time <= capacity * window,
  add({ window, limit }, state, cost) {
    const latest = state.time + MAX_DEBT * gcd(limit, window)
    return { ...state, expected: min(state.expected + cost * window, latest) }
  },
  take: ({ window }, state, cost) => ({
    ...state,
    expected: max(state.time, state.expected - cost * window),
  }),
}
