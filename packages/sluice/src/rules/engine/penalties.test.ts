import { describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine } from "./engine.js"

const RULES = `
version: 1
rules:
  - id: login
    keyBy: user
    limits: [{ name: tries, limit: 1, window: 1s, algorithm: token-bucket, penalty: { after: 2, within: 10s, block: 1m } }]
  - id: trial
    mode: shadow
    keyBy: user
    limits: [{ name: tries, limit: 1, window: 1s, algorithm: token-bucket, penalty: { after: 1, within: 10s, block: 1m } }]
`

function engineOf(rules = RULES) {
  const clock = new ManualClock()
  return { clock, engine: createRuleEngine({ rules, clock }) }
}

describe("the penalty of a rule", () => {
  it("blocks a key, tells since when, and ends with unblockKey", async () => {
    const { clock, engine } = engineOf()
    const ask = () => engine.check({ user: "ann" })
    expect((await ask()).allowed).toBe(true)
    expect(await ask()).toMatchObject({ allowed: false, reason: "limit", rule: "login" })
    expect((await engine.keyUsage("login", "user:ann"))?.[0]?.penalty).toEqual({ denials: 1, blocks: 0 })
    const since = clock.now()
    expect(await ask()).toMatchObject({
      allowed: false,
      reason: "block",
      rule: "login",
      retryAfterMs: 60_000,
    })
    clock.advance(1_000)
    expect(await ask()).toMatchObject({ reason: "block", retryAfterMs: 59_000 })
    expect((await engine.keyUsage("login", "user:ann"))?.[0]?.penalty).toEqual({
      blockedSince: since,
      blockedUntil: since + 60_000,
      denials: 0,
      blocks: 1,
    })
    expect((await engine.check({ user: "bob" })).allowed).toBe(true)
    await engine.unblockKey("login", "user:ann")
    expect((await ask()).allowed).toBe(true)
  })

  it("blocks nobody in shadow mode", async () => {
    const { engine } = engineOf(RULES.replace("id: login", "id: login\n    mode: off"))
    for (let i = 0; i < 4; i++) expect((await engine.check({ user: "ann" })).allowed).toBe(true)
    expect((await engine.check({ user: "ann" })).rules[0]).toMatchObject({ rule: "trial", allowed: false })
  })

  it("is refused with the place of the mistake", () => {
    const wrong = RULES.replace("block: 1m", "block: soon")
    expect(() => engineOf(wrong)).toThrow("rules[0].limits[0].penalty.block")
    expect(() => engineOf(RULES.replace("after: 2", "after: 2, max: 1s"))).toThrow(
      "must be at least as long as block",
    )
  })
})
