// A block: every cost is denied until a time. Not an algorithm people choose; it lets a blocked key be one more charge of
// the same check. Blocked calls never extend the block.
//
// State: [blocked until, for how long it was set]. A clock that was set back must not make a block longer than that: the
// next check then sets it anew from its own time.

import type { Algorithm, Policy } from "./algorithm.js"

const UNTIL = 0
const LENGTH = 1

/** More than any key has. Small, because policies share their shape: a limit that is boxed here is boxed in all of them. */
const ENDLESS = 2 ** 30

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
    verdict.retryAfter = Math.max(left, 0)
    verdict.resetAfter = Math.max(left, 0)
    verdict.delay = 0
    verdict.stale = now + left !== cells[at + UNTIL]
  },
  check(policy, cells, at, cost, now, verdict) {
    this.decide(policy, cells, at, cost, now, verdict)
    if (verdict.stale) this.charge(policy, cells, at, 0, now)
  },
  /** The cost is the duration. A check charges 0, which only settles. */
  charge(_policy, cells, at, cost, now) {
    cells[at + UNTIL] = cost > 0 ? now + cost : settledUntil(cells, at, now)
    if (cost > 0) cells[at + LENGTH] = cost
  },
  refund() {},
  used: (policy, cells, at, now) => ((cells[at + UNTIL] as number) > now ? policy.limit : 0),
  expiresAt: (_policy, cells, at) => cells[at + UNTIL] as number,
}

/** By name: a policy may come from another copy of this library in the same process. */
export function isBlock(policy: Policy): boolean {
  return policy.algorithm.name === "block"
}

export const blockPolicy: Policy = {
  algorithm: block,
  limit: ENDLESS,
  window: 1,
  capacity: ENDLESS,
  buckets: 1,
  bucketSize: 1,
  token: 0,
  leak: 0,
  full: 0,
  anchored: false,
  queue: false,
}
