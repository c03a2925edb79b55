import type { Policy } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import { SluiceError } from "../../errors.js"
import { overridePolicy, restorePolicy, savePolicy } from "../../policy.js"

interface Share {
  readonly instances: number
  readonly policy: Policy
}

/**
 * The share of one instance in each limit: limit and burst divided by the number of live instances. Shares are rounded down, so
 * that they never add up to more than the limit, and are at least 1, so that no instance denies everything. N instances together
 * allow at most limit + N in a window.
 */
export class PolicyShares {
  /** One share per policy, because the number of instances rarely changes. */
  readonly #byPolicy = new WeakMap<Policy, Share>()

  of(policy: Policy, instances: number): Policy {
    if (instances === 1 || isBlock(policy)) return policy
    const known = this.#byPolicy.get(policy)
    if (known !== undefined && known.instances === instances) return known.policy
    const share = { instances, policy: shareOf(policy, instances) }
    this.#byPolicy.set(policy, share)
    return share.policy
  }
}

function shareOf(policy: Policy, instances: number): Policy {
  const limit = part(policy.limit, instances)
  if (policy.token === 0) return overridePolicy(policy, limit, undefined)
  const capacity = part(policy.promisedCapacity, instances)
  try {
    return overridePolicy(policy, limit, capacity)
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== "POLICY_TOO_LARGE") throw error
    // The share of a huge round limit may have no common divisor with the window. The whole limit over a window that is
    // `instances` times as long is the same rate, in numbers no larger than those of the policy.
    return restorePolicy({ ...savePolicy(policy), capacity, window: policy.window * instances, lease: 0 })
  }
}

function part(whole: number, instances: number): number {
  return Math.max(1, Math.floor(whole / instances))
}
