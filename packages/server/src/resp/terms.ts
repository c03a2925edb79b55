// The limit that comes with every CL.THROTTLE: compiled once and found again by its three numbers.

import { restorePolicy } from "sluice/internal"

export type Policy = ReturnType<typeof restorePolicy>
type Algorithm = Policy["algorithm"]

/** `max_burst`, `count` and `period` of a command, and what they mean. */
export interface Terms {
  readonly maxBurst: number
  readonly count: number
  readonly period: number
  readonly policy: Policy
}

/** Numbers that make no limit, in words for the client. */
export class TermsError extends Error {
  override readonly name = "TermsError"
}

const SLOTS = 256
/** Rates remembered to tell when a key is forgotten. */
const MOST_RATES = 4_096
/** Ten years, as everywhere in Sluice. */
const LONGEST_PERIOD = 3_652.5 * 86_400
const LARGEST = 2 ** 50
/** Where a state of gcra has the ticks per unit of the limit that charged it. */
const TOKEN = 2

/** The terms met of late. One place for each: what another takes is compiled again, in about a microsecond. */
export class TermsCache {
  readonly #slots: (Terms | undefined)[] = new Array(SLOTS).fill(undefined)
  readonly #algorithm = forgetful()

  /** Throws a `TermsError`, or a `SluiceError` when the numbers are too large together. */
  get(maxBurst: number, count: number, period: number): Terms {
    const slot = (Math.imul(maxBurst, 31) + Math.imul(count, 17) + period) & (SLOTS - 1)
    const known = this.#slots[slot]
    if (
      known !== undefined &&
      known.maxBurst === maxBurst &&
      known.count === count &&
      known.period === period
    )
      return known
    const terms = { maxBurst, count, period, policy: this.#algorithm(compile(maxBurst, count, period)) }
    this.#slots[slot] = terms
    return terms
  }
}

/**
 * Limits of every speed share one namespace, since a key is one key whatever its limit is. A store keeps a state as long as the
 * slowest limit of its namespace would count it: one limit by the day would keep the keys of all limits by the second for days.
 * As in redis-cell, a key is forgotten when the limit that charged it last has: `token`, in its state, tells which.
 */
function forgetful(): (policy: Policy) => Policy {
  const slowest = new Map<number, Policy>()
  let forgetting: Algorithm | undefined
  return (policy) => {
    if (slowest.size >= MOST_RATES) slowest.clear()
    const known = slowest.get(policy.token)
    if (known === undefined || policy.leak < known.leak) slowest.set(policy.token, policy)
    forgetting ??= forgettingBy(slowest, policy.algorithm)
    return Object.freeze({ ...policy, algorithm: forgetting })
  }
}

function forgettingBy(slowest: ReadonlyMap<number, Policy>, algorithm: Algorithm): Algorithm {
  const chargedBy = (cells: Float64Array, at: number) => slowest.get(cells[at + TOKEN] as number)
  return {
    ...algorithm,
    used: (policy, cells, at, now) => algorithm.used(chargedBy(cells, at) ?? policy, cells, at, now),
    expiresAt: (policy, cells, at) => algorithm.expiresAt(chargedBy(cells, at) ?? policy, cells, at),
  }
}

function compile(maxBurst: number, count: number, period: number): Policy {
  if (!(maxBurst >= 0 && maxBurst < LARGEST))
    throw new TermsError(`max_burst must be from 0 to 2^50, got ${maxBurst}`)
  if (count === 0 || period === 0) throw new TermsError("zero rates are not supported")
  if (!(count >= 1 && count <= LARGEST)) throw new TermsError(`count must be from 1 to 2^50, got ${count}`)
  if (!(period >= 1 && period <= LONGEST_PERIOD))
    throw new TermsError(`period must be from 1 second to ten years, got ${period}`)
  return restorePolicy({
    algorithm: "gcra",
    limit: count,
    window: period * 1_000_000,
    capacity: maxBurst + 1,
    buckets: 1,
    anchored: false,
    queue: false,
  })
}
