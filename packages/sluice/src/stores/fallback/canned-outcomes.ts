// Outcomes that no counter decides, for `onStoreFailure: "allow"` and `"deny"`. A cost above the most that can ever fit is
// denied for ever in both, because no counter is needed to know that.

import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { EMPTY_STATE, newVerdict } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import type { Charge, Outcome } from "../store.js"

/** Decides as if no key had ever been used. */
export function allowedOutcome(charges: readonly Charge[], now: number): Outcome {
  const verdicts = charges.map((charge) => verdictOnNewKey(charge.policy, charge.cost, now))
  const allowed = verdicts.every((verdict) => verdict.allowed)
  return { allowed, now, verdicts, degraded: "allow" }
}

/** Denies everything. `retryAfter` (µs) is when a client may try again, because the real wait is unknown. */
export function deniedOutcome(charges: readonly Charge[], now: number, retryAfter: number): Outcome {
  const verdicts = charges.map((charge) => {
    const verdict = verdictOnNewKey(charge.policy, charge.cost, now)
    // No block is known, so the decision must not name a block as its reason.
    if (isBlock(charge.policy)) return verdict
    if (verdict.allowed) verdict.retryAfter = retryAfter
    verdict.allowed = false
    verdict.remaining = 0
    verdict.used = 0
    verdict.resetAfter = retryAfter
    verdict.delay = 0
    return verdict
  })
  return { allowed: false, now, verdicts, degraded: "deny" }
}

function verdictOnNewKey(policy: Policy, cost: number, now: number): Verdict {
  const verdict = newVerdict()
  policy.algorithm.decide(policy, EMPTY_STATE, 0, cost, now, verdict)
  return verdict
}
