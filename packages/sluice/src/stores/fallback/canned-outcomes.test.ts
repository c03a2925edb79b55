import { describe, expect, it } from "vitest"
import { blockPolicy } from "../../algorithms/block.js"
import { compilePolicy } from "../../policy.js"
import { CAPACITY, variants } from "../../testing/contract/policies.js"
import { type Charge, Namespace } from "../store.js"
import { allowedOutcome, deniedOutcome } from "./canned-outcomes.js"

const NOW = Date.UTC(2026, 0, 1) * 1000
const namespace = new Namespace("test")

describe.each(variants)("$title", ({ limit }) => {
  const policy = compilePolicy(limit, "test")
  const chargeOf = (cost: number): Charge => ({ namespace, key: "key", policy, cost })

  it("allowed without counting shows an unused key", () => {
    const outcome = allowedOutcome([chargeOf(3)], NOW)
    expect(outcome).toMatchObject({ allowed: true, degraded: "allow", now: NOW })
    expect(outcome.verdicts).toMatchObject([
      { allowed: true, remaining: CAPACITY - 3, retryAfter: 0, delay: 0 },
    ])
  })

  it("denied without counting says when to try again", () => {
    const outcome = deniedOutcome([chargeOf(1)], NOW, 1_000_000)
    expect(outcome).toMatchObject({ allowed: false, degraded: "deny", now: NOW })
    expect(outcome.verdicts).toMatchObject([
      { allowed: false, remaining: 0, retryAfter: 1_000_000, delay: 0 },
    ])
  })

  it("a cost that can never fit is denied either way", () => {
    const never = [{ allowed: false, retryAfter: Number.POSITIVE_INFINITY }]
    expect(allowedOutcome([chargeOf(CAPACITY + 1)], NOW)).toMatchObject({ allowed: false, verdicts: never })
    expect(deniedOutcome([chargeOf(CAPACITY + 1)], NOW, 1)).toMatchObject({ allowed: false, verdicts: never })
  })

  it("a check of cost 0 is denied like any other", () => {
    expect(deniedOutcome([chargeOf(0)], NOW, 1).verdicts).toMatchObject([{ allowed: false, remaining: 0 }])
  })
})

it("a denial does not name a block that could not be looked up", () => {
  const charge = { namespace, key: "key", policy: blockPolicy, cost: 0 }
  expect(deniedOutcome([charge], NOW, 1)).toMatchObject({ allowed: false, verdicts: [{ allowed: true }] })
})
