// The policy of a CL.THROTTLE command, compiled from its three numbers and cached by them.

import { restorePolicy } from "sluice/internal"

export type Policy = ReturnType<typeof restorePolicy>
type Algorithm = Policy["algorithm"]

/** An argument of CL.THROTTLE is invalid. The message is sent to the client. */
export class ThrottleArgumentError extends Error {
  override readonly name = "ThrottleArgumentError"
}

interface CachedPolicy {
  readonly maxBurst: number
  readonly count: number
  readonly period: number
  readonly policy: Policy
}

const SLOTS = 256
const MAX_RATES = 4_096
/** Ten years in seconds, the longest window of Sluice. */
const MAX_PERIOD = 3_652.5 * 86_400
const MAX_COUNT = 2 ** 50
/** The cell of a gcra state that holds the ticks per unit of the policy that charged it. */
const TOKEN_CELL = 2

/** Recently used policies, one per slot. A policy that another has replaced is compiled again, in about a microsecond. */
export class ThrottlePolicies {
  readonly #slots: (CachedPolicy | undefined)[] = new Array(SLOTS).fill(undefined)
  readonly #withOwnExpiry = ownExpiry()

  /** Throws a `ThrottleArgumentError`, or a `SluiceError` when the numbers are too large together. */
  get(maxBurst: number, count: number, period: number): Policy {
    const slot = (Math.imul(maxBurst, 31) + Math.imul(count, 17) + period) & (SLOTS - 1)
    const known = this.#slots[slot]
    if (
      known !== undefined &&
      known.maxBurst === maxBurst &&
      known.count === count &&
      known.period === period
    )
      return known.policy
    const policy = this.#withOwnExpiry(compile(maxBurst, count, period))
    this.#slots[slot] = { maxBurst, count, period, policy }
    return policy
  }
}

/**
 * Makes a key expire by the policy that charged it last, as in redis-cell. All policies share one namespace, because a key is
 * the same key whatever its limit is. A store keeps a state as long as the slowest policy of its namespace needs it, so a single
 * daily limit would keep the keys of all per-second limits for days. The `token` in a state tells which policy charged it.
 */
function ownExpiry(): (policy: Policy) => Policy {
  const slowest = new Map<number, Policy>()
  let algorithm: Algorithm | undefined
  return (policy) => {
    if (slowest.size >= MAX_RATES) slowest.clear()
    const known = slowest.get(policy.token)
    if (known === undefined || policy.leak < known.leak) slowest.set(policy.token, policy)
    algorithm ??= expiringBy(slowest, policy.algorithm)
    return Object.freeze({ ...policy, algorithm })
  }
}

function expiringBy(slowest: ReadonlyMap<number, Policy>, algorithm: Algorithm): Algorithm {
  const chargedBy = (cells: Float64Array, at: number) => slowest.get(cells[at + TOKEN_CELL] as number)
  return {
    ...algorithm,
    used: (policy, cells, at, now) => algorithm.used(chargedBy(cells, at) ?? policy, cells, at, now),
    expiresAt: (policy, cells, at) => algorithm.expiresAt(chargedBy(cells, at) ?? policy, cells, at),
  }
}

function compile(maxBurst: number, count: number, period: number): Policy {
  if (!(maxBurst >= 0 && maxBurst < MAX_COUNT))
    throw new ThrottleArgumentError(`max_burst must be from 0 to 2^50, got ${maxBurst}`)
  if (count === 0 || period === 0) throw new ThrottleArgumentError("zero rates are not supported")
  if (!(count >= 1 && count <= MAX_COUNT))
    throw new ThrottleArgumentError(`count must be from 1 to 2^50, got ${count}`)
  if (!(period >= 1 && period <= MAX_PERIOD))
    throw new ThrottleArgumentError(`period must be from 1 second to ten years, got ${period}`)
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
