// A block denies every cost until a time. Users do not choose this algorithm; as an algorithm, the block of a key is one more
// charge of the same check. Denied calls do not extend the block.
//
// State: [blocked until, for how long it was set]. A clock that is set back must not make a block last longer than it was set
// for, so the next check then restarts the block from its own time.

import type { Algorithm, Policy } from "./algorithm.js"

const UNTIL = 0
const LENGTH = 1

/** More than any key is charged, and small enough for V8 to store as a small integer in every policy. */
const UNLIMITED = 2 ** 30

function settledUntil(cells: Float64Array, at: number, now: number): number {
  return Math.min(cells[at + UNTIL] as number, now + (cells[at + LENGTH] as number))
}

export const block: Algorithm = {
  name: "block",
  cells: () => 2,
  decide(policy, cells, at, _cost, now, verdict) {
    const left = settledUntil(cells, at, now) - now
    verdict.allowed = left <= 0
    verdict.remaining = left <= 0 ? policy.limit : 0
    verdict.used = 0
    verdict.retryAfter = Math.max(left, 0)
    verdict.resetAfter = Math.max(left, 0)
    verdict.delay = 0
    verdict.stale = now + left !== cells[at + UNTIL]
  },
  check(policy, cells, at, cost, now, verdict) {
    this.decide(policy, cells, at, cost, now, verdict)
    if (verdict.stale) this.charge(policy, cells, at, 0, now)
  },
  /** The cost is the duration in µs. A check charges 0, which only settles the state. */
  charge(_policy, cells, at, cost, now) {
    cells[at + UNTIL] = cost > 0 ? now + cost : settledUntil(cells, at, now)
    if (cost > 0) cells[at + LENGTH] = cost
  },
  refund() {},
  used: (policy, cells, at, now) => ((cells[at + UNTIL] as number) > now ? policy.limit : 0),
  expiresAt: (_policy, cells, at) => cells[at + UNTIL] as number,
}

/** Compares by name, because a policy may come from another copy of this library in the same process. */
export function isBlock(policy: Policy): boolean {
  return policy.algorithm.name === "block"
}

export const blockPolicy: Policy = {
  algorithm: block,
  limit: UNLIMITED,
  window: 1,
  windowMs: 0,
  capacity: UNLIMITED,
  buckets: 1,
  bucketSize: 1,
  token: 0,
  leak: 0,
  full: 0,
  anchored: false,
  calendar: undefined,
  queue: false,
  lease: 0,
  promisedCapacity: UNLIMITED,
  promisedWindow: 1,
}
