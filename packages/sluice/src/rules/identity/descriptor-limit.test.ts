import { describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine, type RuleEngine } from "../engine/engine.js"

const RULES = `
version: 1
rules:
  - id: user
    match: { domain: edge, descriptor: [{ key: user }] }
    keyBy: descriptor
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
  - id: friend
    match: { domain: edge, descriptor: [{ key: friend }] }
    limits: unlimited
`

function engineOf(): RuleEngine {
  return createRuleEngine({ rules: RULES, clock: new ManualClock() })
}

function ask(engine: RuleEngine, key: string, limit: number, windowMs: number, cost?: number) {
  const entries = [{ key, value: "1" }]
  const request = { domain: "edge", descriptors: [{ entries, limit: { limit, windowMs } }] }
  return engine.checkSync(request, cost === undefined ? {} : { cost })
}

describe("a limit in a descriptor", () => {
  it("replaces the limit of the rule, and keeps the charges of the same window", () => {
    const engine = engineOf()
    expect(
      engine.checkSync({ domain: "edge", descriptors: [{ entries: [{ key: "user", value: "1" }] }] })
        .remaining,
    ).toBe(1)
    expect(ask(engine, "user", 5, 60_000)).toMatchObject({
      allowed: true,
      limit: 5,
      remaining: 3,
      rule: "user",
    })
    expect(ask(engine, "user", 5, 3_600_000)).toMatchObject({ remaining: 4 })
  })

  it("limits a descriptor of an unlimited rule by its whole text", () => {
    const decision = ask(engineOf(), "friend", 5, 60_000)
    expect(decision).toMatchObject({ allowed: true, remaining: 4 })
    expect(decision.rules[0]?.key).toBe("descriptor:friend=1")
  })

  it("denies every cost above 0 when it is 0", () => {
    const engine = engineOf()
    expect(ask(engine, "user", 0, 60_000)).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    expect(ask(engine, "user", 0, 60_000, 0).allowed).toBe(true)
  })

  it("is refused when it is not a valid limit", () => {
    const engine = engineOf()
    expect(() => ask(engine, "user", 1.5, 60_000)).toThrow("descriptor.limit")
    expect(() => ask(engine, "user", 4_294_967_295, 365 * 86_400_000)).not.toThrow()
  })

  it("changes nothing for a descriptor that no rule matches", () => {
    expect(ask(engineOf(), "stranger", 1, 60_000).reason).toBe("no-rule")
  })
})
