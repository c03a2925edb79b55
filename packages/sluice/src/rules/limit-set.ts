// The limits of a rule, of one of its tiers, or of one client: policies with the counters they charge.

import type { Policy } from "../algorithms/algorithm.js"
import { SluiceError } from "../errors.js"
import { compileLimit } from "../limiter-options.js"
import type { LimitOptions } from "../policy.js"
import { Space } from "../stores/store.js"
import type { LimitSpec } from "./schema.js"

export interface RuleLimitPolicy {
  readonly name: string
  readonly policy: Policy
  readonly space: Space
  readonly windowMs: number
}

/** `"unlimited"`: the rule matches, and counts nothing. */
export type LimitSet = readonly RuleLimitPolicy[] | "unlimited"

/**
 * Counters are known by rule, name (or window) and algorithm: what somebody raises or lowers keeps what was charged, and a
 * client that changes its tier meets the same counters.
 */
export function compileLimitSet(
  limits: readonly LimitSpec[],
  prefix: string,
  place: string,
): RuleLimitPolicy[] {
  const compiled = limits.map((limit, i) => {
    const { name, policy, space } = compileLimit(limit as LimitOptions, `${place}[${i}]`, prefix)
    return { name, policy, space: new Space(space), windowMs: policy.window / 1000 }
  })
  compiled.forEach((limit, i) => {
    if (compiled.findIndex(({ name, space }) => name === limit.name || space.name === limit.space.name) < i) {
      throw new SluiceError("LIMIT_NAME_DUPLICATE", {
        place: `${place}[${i}].name`,
        expected: "must be given and unique where algorithm and window are the same",
        found: limit.name,
      })
    }
  })
  return compiled
}
