import { describe, expect, it } from "vitest"
import { blockPolicy } from "../../algorithms/block.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { variants } from "../../testing/contract/policies.js"
import { PolicyShares } from "./policy-share.js"

const policyOf = (limit: LimitOptions) => compilePolicy(limit, "test")

describe("a share", () => {
  it.each(variants)("of $title is limit and burst divided, rounded down", ({ limit }) => {
    const policy = policyOf(limit)
    const share = new PolicyShares().of(policy, 3)
    expect(share).toMatchObject({
      algorithm: policy.algorithm,
      limit: Math.floor(policy.limit / 3),
      capacity: Math.floor(policy.capacity / 3),
      window: policy.window,
      buckets: policy.buckets,
      anchored: policy.anchored,
      queue: policy.queue,
    })
  })

  it.each(variants)("of $title is at least 1", ({ limit }) => {
    expect(new PolicyShares().of(policyOf(limit), 1_000)).toMatchObject({ limit: 1, capacity: 1 })
  })

  it("of a single instance is the whole", () => {
    const policy = policyOf({ limit: 10, window: "1m" })
    expect(new PolicyShares().of(policy, 1)).toBe(policy)
  })

  it("of a block is the block", () => {
    expect(new PolicyShares().of(blockPolicy, 4)).toBe(blockPolicy)
  })

  it("is worked out once per number of instances", () => {
    const shares = new PolicyShares()
    const policy = policyOf({ limit: 10, window: "1m" })
    const four = shares.of(policy, 4)
    expect(shares.of(policy, 4)).toBe(four)
    expect(shares.of(policy, 5)).toMatchObject({ limit: 2 })
    expect(shares.of(policy, 4)).toEqual(four)
  })

  it("of a policy whose seventh has no common divisor with the window is the same rate over a longer window", () => {
    const policy = policyOf({ algorithm: "token-bucket", limit: 1_000_000_000, window: "1d" })
    const share = new PolicyShares().of(policy, 7)
    expect(share.capacity).toBe(142_857_142)
    expect(share.capacity * share.token).toBeLessThanOrEqual(2 ** 53)
    // leak ÷ token is the rate in units per µs.
    expect((share.leak * policy.token * 7) / (share.token * policy.leak)).toBe(1)
  })
})
