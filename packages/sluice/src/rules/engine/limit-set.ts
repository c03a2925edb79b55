// The limits of a rule, of one of its tiers, or of one client: policies with the counters they charge.

import type { Policy } from "../../algorithms/algorithm.js"
import { checkDistinct, compileLimit } from "../../limiter-options.js"
import type { LimitOptions } from "../../policy.js"
import { Namespace } from "../../stores/store.js"
import type { LimitSpec } from "../language/schema.js"

export interface RuleLimitPolicy {
  readonly name: string
  readonly policy: Policy
  readonly namespace: Namespace
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
  namespaces: string,
  place: string,
  prefix?: string,
): RuleLimitPolicy[] {
  const compiled = limits.map((limit, i) => compileLimit(limit as LimitOptions, `${place}[${i}]`, namespaces))
  checkDistinct(compiled, place)
  return compiled.map(({ name, policy, namespace }) => ({
    name,
    policy,
    namespace: new Namespace(namespace, prefix),
    windowMs: policy.window / 1000,
  }))
}
