// Outcomes without any counter, for `onStoreFailure: "allow"` and `"deny"`. What needs no counter to be known still
// holds: a cost above the most that can ever fit is denied for ever, whichever way the rest goes.

import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { newVerdict } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import type { Charge, Outcome } from "../store.js"

/** The state of a key never used, long enough for every algorithm. */
const UNUSED = new Float64Array(4_096)

/** As if every key were unused. */
export function allowUncounted(charges: readonly Charge[], now: number): Outcome {
  const verdicts = charges.map((charge) => unusedVerdict(charge.policy, charge.cost, now))
  const allowed = verdicts.every((verdict) => verdict.allowed)
  return { allowed, now, verdicts, degraded: "allow" }
}

/** Nothing passes; `retryAfter` says when to try again, since nobody can know when it would. */
export function denyUncounted(charges: readonly Charge[], now: number, retryAfter: number): Outcome {
  const verdicts = charges.map((charge) => {
    const verdict = unusedVerdict(charge.policy, charge.cost, now)
    // No block is known, and none may be named as the reason.
    if (isBlock(charge.policy)) return verdict
    if (verdict.allowed) verdict.retryAfter = retryAfter
    verdict.allowed = false
    verdict.remaining = 0
    verdict.resetAfter = retryAfter
    verdict.delay = 0
    return verdict
  })
  return { allowed: false, now, verdicts, degraded: "deny" }
}

function unusedVerdict(policy: Policy, cost: number, now: number): Verdict {
  const verdict = newVerdict()
  policy.algorithm.decide(policy, UNUSED, 0, cost, now, verdict)
  return verdict
}
