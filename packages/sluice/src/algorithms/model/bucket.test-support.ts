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
    const isAhead = state.time - now > terms.window
    const time = isAhead ? now : max(now, state.time)
    const elapsed = isAhead ? 0n : time - state.time
    if (state.token === token && state.leak === leak) {
      const charged = min(state.debt, terms.capacity * token)
      return { debt: max(0n, charged - elapsed * leak), token, leak, time }
    }
    // The code's choice for other terms: what has drained at the old rate is gone, the rest is translated, rounded up. All of
    // it, also what is beyond a full bucket: the other terms may be those of one call that is denied.
    const left = max(0n, state.debt - elapsed * state.leak)
    return { debt: min(ceilDivide(left * token, state.token), 2n ** 53n), token, leak, time }
  },
  used: (terms, state) => ceilDivide(clipped(terms, state), state.token),
  fits: (terms, state, cost) => clipped(terms, state) + cost * state.token <= terms.capacity * state.token,
  add: (_terms, state, cost) => ({ ...state, debt: state.debt + cost * state.token }),
  take: (_terms, state, cost) => ({ ...state, debt: max(0n, state.debt - cost * state.token) }),
}

function clipped(terms: Terms, state: Bucket): bigint {
  return min(state.debt, terms.capacity * state.token)
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
