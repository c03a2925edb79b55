// A block: every cost is denied until a time. Not an algorithm people choose; it lets a blocked key be one more charge of
// the same check. Blocked calls never extend the block.
//
// State: [blocked until].

import type { Algorithm, Policy } from "./algorithm.js"
import { checkInTwoSteps } from "./algorithm.js"

const UNTIL = 0

/** More than any key has. Small, because policies share their shape: a limit that is boxed here is boxed in all of them. */
const ENDLESS = 2 ** 30

export const block: Algorithm = {
  name: "block",
  cells: () => 1,
  decide(policy, cells, at, _cost, now, verdict) {
    const left = (cells[at + UNTIL] as number) - now
    verdict.allowed = left <= 0
    verdict.remaining = left <= 0 ? policy.limit : 0
    verdict.retryAfter = Math.max(left, 0)
    verdict.resetAfter = Math.max(left, 0)
    verdict.delay = 0
    verdict.foreign = false
  },
  check: checkInTwoSteps,
  /** The cost is the duration. A check charges 0, which changes nothing. */
  charge(_policy, cells, at, cost, now) {
    if (cost > 0) cells[at + UNTIL] = now + cost
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
