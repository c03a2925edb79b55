import type { Model, Terms } from "./model.test-support.js"
import { max, min } from "./model.test-support.js"

interface Bucket {
  /** In ticks, of which `token` made a unit when this was written. */
  readonly debt: bigint
  readonly token: bigint
  readonly time: bigint
}

/** Token bucket and leaky bucket: what is missing from the one is the water in the other. */
export const bucketModel: Model<Bucket> = {
  settle(terms, state, now) {
    const { token, leak } = ticks(terms)
    // The contract: debt 0 equals no state at all.
    if (state === undefined || state.debt === 0n) return { debt: 0n, token, time: now }
    // The code's choice for other terms: what was charged is translated, rounded up, and never more than full.
    const charged = min(ceilDivide(state.debt * token, state.token), terms.capacity * token)
    // Written by a clock that was wrong: as if charged now.
    if (state.time - now > terms.window) return { debt: charged, token, time: now }
    const time = max(now, state.time)
    return { debt: max(0n, charged - (time - state.time) * leak), token, time }
  },
  used: (terms, state) => ceilDivide(state.debt, ticks(terms).token),
  fits: (terms, state, cost) => state.debt + cost * state.token <= terms.capacity * state.token,
  add: (_terms, state, cost) => ({ ...state, debt: state.debt + cost * state.token }),
  take: (_terms, state, cost) => ({ ...state, debt: max(0n, state.debt - cost * state.token) }),
}

function ticks(terms: Terms): { token: bigint; leak: bigint } {
  const divisor = gcd(terms.limit, terms.window)
  return { token: terms.window / divisor, leak: terms.limit / divisor }
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b)
}

function ceilDivide(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b
}
