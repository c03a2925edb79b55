import { describe, expect, it } from "vitest"
import { newVerdict, type Verdict } from "./algorithms/algorithm.js"
import { decisionOfMany, decisionOfOne } from "./decision.js"
import { compilePolicy } from "./policy.js"

const NOW = Date.UTC(2026, 0, 1) * 1000
const wide = { name: "wide", policy: compilePolicy({ limit: 100, window: "1m" }, "") }
const narrow = {
  name: "narrow",
  policy: compilePolicy({ algorithm: "token-bucket", limit: 10, window: "1s", burst: 20 }, ""),
}

function verdict(fields: Partial<Verdict>): Verdict {
  return { ...newVerdict(), allowed: true, ...fields }
}

function outcome(verdicts: Verdict[]) {
  return { allowed: verdicts.every(({ allowed }) => allowed), now: NOW, verdicts, degraded: undefined }
}

describe("a decision on one limit", () => {
  it("is the verdict in milliseconds, with the burst as its limit", () => {
    const single = verdict({ remaining: 7, used: 13, resetAfter: 1_234_567, delay: 1 })
    expect(decisionOfOne("narrow", narrow.policy, single, { now: NOW, degraded: undefined })).toEqual({
      allowed: true,
      limit: 20,
      remaining: 7,
      used: 13,
      windowMs: 1_000,
      retryAfterMs: 0,
      resetAfterMs: 1_234.567,
      resetAt: (NOW + 1_234_567) / 1000,
      delayMs: 0.001,
      deniedBy: undefined,
      degraded: undefined,
      limits: undefined,
    })
  })

  it("names the limit when denied, and keeps Infinity", () => {
    const never = verdict({ allowed: false, retryAfter: Number.POSITIVE_INFINITY })
    const decision = decisionOfOne("narrow", narrow.policy, never, { now: NOW, degraded: "deny" })
    expect(decision).toMatchObject({
      deniedBy: "narrow",
      retryAfterMs: Number.POSITIVE_INFINITY,
      degraded: "deny",
    })
  })
})

describe("a decision on several limits", () => {
  it("shows the one with the least remaining, and the longest reset and delay", () => {
    const verdicts = [
      verdict({ remaining: 3, used: 97, resetAfter: 5_000, delay: 2_000 }),
      verdict({ remaining: 9, used: 11, resetAfter: 9_000, delay: 1_000 }),
    ]
    expect(decisionOfMany([wide, narrow], verdicts, outcome(verdicts))).toMatchObject({
      allowed: true,
      limit: 100,
      remaining: 3,
      used: 97,
      windowMs: 60_000,
      retryAfterMs: 0,
      resetAfterMs: 9,
      resetAt: (NOW + 9_000) / 1000,
      delayMs: 2,
      deniedBy: undefined,
    })
  })

  it("names the limit with the longest wait, and has no delay for a denied request", () => {
    const verdicts = [
      verdict({ allowed: false, retryAfter: 5_000 }),
      verdict({ allowed: false, retryAfter: 7_000, delay: 1_000 }),
    ]
    expect(decisionOfMany([wide, narrow], verdicts, outcome(verdicts))).toMatchObject({
      allowed: false,
      retryAfterMs: 7,
      deniedBy: "narrow",
      delayMs: 0,
    })
  })

  it("names the block when it is what takes longest", () => {
    const verdicts = [verdict({ remaining: 5 }), verdict({ allowed: false, remaining: 1, retryAfter: 1_000 })]
    const blocked = verdict({ allowed: false, retryAfter: 60_000, resetAfter: 60_000 })
    const decision = decisionOfMany([wide, narrow], [...verdicts, blocked], {
      ...outcome(verdicts),
      allowed: false,
    })
    expect(decision).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 60,
      resetAfterMs: 60,
      deniedBy: "block",
    })
    expect(decision.limits?.map(({ name }) => name)).toEqual(["wide", "narrow"])
  })

  it("ignores a block that has ended", () => {
    const verdicts = [verdict({ remaining: 5 })]
    const over = verdict({ remaining: Number.MAX_SAFE_INTEGER })
    expect(decisionOfMany([wide], [...verdicts, over], outcome(verdicts))).toMatchObject({
      allowed: true,
      remaining: 5,
      deniedBy: undefined,
      limits: undefined,
    })
  })
})
