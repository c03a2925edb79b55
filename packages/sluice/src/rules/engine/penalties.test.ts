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

  it("says which decision began a block, and lists the key with its reason", async () => {
    const { clock, engine } = engineOf()
    const since = clock.now()
    const ask = () => engine.check({ user: "ann" })
    const begun = [await ask(), await ask(), await ask(), await ask()].map(({ begunBlocks }) => begunBlocks)
    const blocked = { rule: "login", key: "user:ann", limit: "tries", denials: 2, earlier: 0 }
    expect(begun).toEqual([
      undefined,
      undefined,
      [{ ...blocked, blockedForMs: 60_000, blockedUntil: since + 60_000 }],
      undefined,
    ])
    await engine.blockKey("login", "user:bob", "2m")
    const byPenalty = {
      ...blocked,
      blockedSince: since,
      blockedUntil: since + 60_000,
      blockedForMs: 60_000,
    }
    const byHand = {
      rule: "login",
      key: "user:bob",
      blockedSince: since,
      blockedUntil: since + 120_000,
      blockedForMs: 120_000,
    }
    expect(await engine.blockedKeys()).toEqual({ keys: [byHand, byPenalty], isComplete: true })
    await engine.unblockKey("login", "user:bob")
    expect((await engine.blockedKeys())?.keys).toEqual([byPenalty])
  })

  it("ends with unblockKey also for a client of a tier", async () => {
    const tier =
      "tiers: { pro: { limits: [{ name: fast, limit: 1, window: 1s, penalty: { after: 1, within: 1m, block: 1h } }] } }"
    const { engine } = engineOf(RULES.replace("keyBy: user", `keyBy: user\n    ${tier}`))
    for (let i = 0; i < 2; i++) await engine.check({ user: "ann", tier: "pro" })
    expect((await engine.blockedKeys())?.keys).toMatchObject([{ key: "user:ann", limit: "fast", denials: 1 }])
    await engine.unblockKey("login", "user:ann")
    expect((await engine.blockedKeys())?.keys).toEqual([])
    expect((await engine.peek({ user: "ann", tier: "pro" })).allowed).toBe(true)
  })

  it("and a block by hand: the longer of both is the wait, and the key resets after it", async () => {
    const { clock, engine } = engineOf()
    const ask = () => engine.check({ user: "ann" })
    for (let i = 0; i < 3; i++) await ask()
    await engine.blockKey("login", "user:ann", "10s")
    expect(await ask()).toMatchObject({
      retryAfterMs: 60_000,
      resetAt: clock.now() + 60_000,
      reason: "block",
    })
    await engine.blockKey("login", "user:ann", "1h")
    const resetAt = clock.now() + 3_600_000
    expect(await ask()).toMatchObject({ retryAfterMs: 3_600_000, resetAfterMs: 3_600_000, resetAt })
    expect(await engine.keyBlock("login", "user:ann")).toEqual({
      blockedSince: clock.now(),
      blockedUntil: resetAt,
    })
  })

  it("waits for a full limit that lasts longer than the block, and still says that the key is blocked", async () => {
    const { engine } = engineOf(
      "version: 1\nrules: [{ id: a, keyBy: user, limits: [{ limit: 1, window: 1h, anchor: first-request, algorithm: fixed-window }] }]",
    )
    await engine.check({ user: "ann" })
    await engine.blockKey("a", "user:ann", "1m")
    const denied = { allowed: false, reason: "block", deniedBy: "block", retryAfterMs: 3_600_000 }
    expect(await engine.check({ user: "ann" })).toMatchObject(denied)
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
