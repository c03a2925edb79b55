import type { Model, Terms } from "./model.test-support.js"
import { gcd, max, min } from "./model.test-support.js"

interface Bucket {
  /** In ticks, of which `token` made a unit when this was written. */
  readonly debt: bigint
  readonly token: bigint
  /** How many of them drained in a µs. */
  readonly leak: bigint
  readonly time: bigint
  /** The capacity of the policy that charged the debt. */
  readonly capacity: bigint
}

/** The most ticks of a debt: 285 years at the slowest rate. */
export const MAX_DEBT = 2n ** 53n

/** Token bucket and leaky bucket: what is missing from the one is the water in the other. */
export const bucketModel: Model<Bucket> = {
  drains: true,
  settle(terms, state, now) {
    const { token, leak } = ticks(terms)
    const { capacity } = terms
    // The contract: debt 0 equals no state at all.
    if (state === undefined || state.debt === 0n) return { debt: 0n, token, leak, time: now, capacity }
    const isAhead = state.time - now > terms.window
    const time = isAhead ? now : max(now, state.time)
    const elapsed = isAhead ? 0n : time - state.time
    if (state.token === token && state.leak === leak)
      return { debt: max(0n, counted(terms, state) - elapsed * leak), token, leak, time, capacity }
    // The code's choice for other terms: what has drained at the old rate is gone, the rest is translated, rounded up. All of
    // it, also what is beyond a full bucket: the other terms may be those of one call that is denied.
    const left = max(0n, state.debt - elapsed * state.leak)
    const debt = min(ceilDivide(left * token, state.token), MAX_DEBT)
    return { debt, token, leak, time, capacity: state.capacity }
  },
  used: (terms, state) => ceilDivide(counted(terms, state), state.token),
  fits: (terms, state, cost) => counted(terms, state) + cost * state.token <= terms.capacity * state.token,
  add(terms, state, cost) {
    const debt = min(counted(terms, state) + cost * state.token, MAX_DEBT)
    return { ...state, debt, capacity: terms.capacity }
  },
  take: (_terms, state, cost) => ({ ...state, debt: max(0n, state.debt - cost * state.token) }),
}

/** An overdraft counts in full while the capacity is the same; under another one a debt is at most a full bucket. */
function counted(terms: Terms, { debt, token, capacity }: Bucket): bigint {
  return capacity === terms.capacity ? debt : min(debt, terms.capacity * token)
}

function ticks(terms: Terms): { token: bigint; leak: bigint } {
  const divisor = gcd(terms.limit, terms.window)
  return { token: terms.window / divisor, leak: terms.limit / divisor }
}

function ceilDivide(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b
}
