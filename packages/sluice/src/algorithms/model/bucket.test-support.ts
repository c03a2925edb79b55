import type { Model, Terms } from "./model.test-support.js"
import { max, min } from "./model.test-support.js"

interface Bucket {
  /** In ticks, of which `token` made a unit when this was written. */
  readonly debt: bigint
  readonly token: bigint
  /** How many of them drained in a µs. */
  readonly leak: bigint
  readonly time: bigint
}

/** Token bucket and leaky bucket: what is missing from the one is the water in the other. */
export const bucketModel: Model<Bucket> = {
  settle(terms, state, now) {
    const { token, leak } = ticks(terms)
    // The contract: debt 0 equals no state at all.
    if (state === undefined || state.debt === 0n) return { debt: 0n, token, leak, time: now }
    // Never more than a full bucket, and what has drained did so at the rate it was charged under.
    const charged = min(state.debt, terms.capacity * state.token)
    // The code's choice for other terms: what is left is translated, rounded up.
    const translated = (debt: bigint) => ceilDivide(debt * token, state.token)
    // Written by a clock that was wrong: as if charged now.
    if (state.time - now > terms.window) return { debt: translated(charged), token, leak, time: now }
    const time = max(now, state.time)
    return { debt: translated(max(0n, charged - (time - state.time) * state.leak)), token, leak, time }
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
