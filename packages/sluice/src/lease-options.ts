// The option `leases` of a limit, and what leases take away from it. stores/leases has the leases themselves.

import type { AlgorithmName } from "./algorithms/algorithm.js"
import { isBucket } from "./algorithms/bucket.js"
import { mulDivCeil } from "./algorithms/exact.js"
import type { Duration } from "./duration.js"
import { formatDuration, parseDuration } from "./duration.js"
import { SluiceError } from "./errors.js"
import { checkFields } from "./options.js"

/**
 * Whether instances take several units of a limit with one call to a shared store and spend them without further calls, and for
 * how long they may hold them. The default length is a hundredth of the window, at most 100 ms. See docs/leases.md.
 */
export type LeaseOptions = boolean | { length?: Duration }

/** The numbers of a limit as the user asked for them, with the length of its leases. Times are in microseconds. */
interface LeasedLimit {
  readonly algorithm: AlgorithmName | "block"
  readonly limit: number
  readonly window: number
  readonly capacity: number
  readonly queue: boolean
  readonly lease?: number
}

/** In µs. A longer lease saves hardly more calls, and holds back more of the burst. */
const DEFAULT_LEASE = 100_000
const LEASES_PER_WINDOW = 100

/** The length of a lease in µs; 0 for none. */
export function leaseOf(leases: LeaseOptions | undefined, window: number, place: string): number {
  if (leases === undefined || leases === false) return 0
  const longest = Math.floor(window / LEASES_PER_WINDOW)
  let lease = Math.min(DEFAULT_LEASE, longest)
  if (leases !== true) {
    checkFields(leases, ["length"], place)
    if (leases.length !== undefined)
      lease = Math.round(parseDuration(leases.length, `${place}.length`) * 1000)
  }
  if (lease >= 1) return lease
  throw new SluiceError("LEASE_INVALID", {
    place,
    expected: "needs a length of at least 1 microsecond, and a window of at least 100",
  })
}

/** Throws if a limit cannot be leased, or if leases of this length would leave less than 90 % of it. */
export function checkLease(numbers: Required<LeasedLimit>, place: string): void {
  if (numbers.queue) {
    throw new SluiceError("LEASE_INVALID", {
      place,
      expected:
        'cannot be used with overflow: "queue", because each request needs its own place in the queue',
    })
  }
  if (leavesEnough(numbers)) return
  const { capacity, window } = leasedNumbers(numbers)
  const rest = capacity < numbers.capacity ? `a burst of ${Math.max(capacity, 0)} of ${numbers.capacity}` : ""
  throw new SluiceError("LEASE_INVALID", {
    place,
    expected: `must leave at least 90 % of the limit; leases of ${formatDuration(numbers.lease / 1000)} leave ${
      rest ||
      `${Math.floor((numbers.window / window) * 100)} %, because each unit counts for ${formatDuration(window / 1000)}`
    }; a shorter length, a larger burst or a longer window fits`,
  })
}

/** Whether a policy with leases decides with at least 90 % of what the user asked for. */
export function leavesEnough(numbers: LeasedLimit): boolean {
  const { capacity, window } = leasedNumbers(numbers)
  return capacity * 10 >= numbers.capacity * 9 && numbers.window * 10 >= window * 9
}

/**
 * Capacity and window that a policy decides with, so that units that are spent up to `lease` µs after they were charged keep the
 * promise. In any interval [a, b] only units are spent that were charged in [a - lease, b]: a bucket admits at most capacity +
 * rate × (b - a + lease) of them, and a log that counts each unit for window + lease admits at most its limit. Fixed windows
 * and counters need no such margin, because their leases end with the window or bucket that was charged.
 */
export function leasedNumbers(numbers: LeasedLimit): { capacity: number; window: number } {
  const { algorithm, limit, window, capacity, lease = 0 } = numbers
  if (lease === 0) return { capacity, window }
  if (isBucket(algorithm)) return { capacity: capacity - mulDivCeil(limit, lease, window), window }
  return { capacity, window: algorithm === "sliding-window-log" ? window + lease : window }
}
