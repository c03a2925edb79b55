import type { Policy } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import { SluiceError } from "../../errors.js"
import { overridePolicy, restorePolicy, savePolicy } from "../../policy.js"

interface Share {
  readonly instances: number
  readonly policy: Policy
}

/**
 * One instance's part of each limit: limit and burst divided by the live instances, rounded down so that the parts never
 * add up to more than the whole, and at least 1 so that nobody is shut out. N instances together then let at most
 * limit + N through in a window.
 */
export class Shares {
  /** The number of instances rarely changes: the last one's numbers are enough. */
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
  const capacity = part(policy.capacity, instances)
  try {
    return overridePolicy(policy, limit, capacity)
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== "POLICY_TOO_LARGE") throw error
    // A huge round limit divided may have no common divisor with its window left. The whole limit over a window that much
    // longer is the same rate, in numbers no larger than those of the whole policy.
    return restorePolicy({ ...savePolicy(policy), capacity, window: policy.window * instances })
  }
}

function part(whole: number, instances: number): number {
  return Math.max(1, Math.floor(whole / instances))
}
