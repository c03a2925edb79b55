import { afterEach, describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RuleSpec } from "../language/schema.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"
import type { RuleEngineOptions } from "./engine-options.js"

const engines: RuleEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

function start({ rules }: { rules: RuleSpec[] }, options: Partial<RuleEngineOptions> = {}) {
  const clock = new ManualClock()
  const engine = createRuleEngine({ rules: { version: 1, rules }, clock, ...options })
  engines.push(engine)
  return { clock, engine }
}

/** A rule of so many requests a minute. */
function rule(id: string, limit: number, more: Partial<RuleSpec> = {}): RuleSpec {
  return { id, limits: [{ limit, window: "1m", algorithm: "fixed-window" }], ...more }
}

describe("checkRateLimit", () => {
  it("answers allowed, limit, remaining and resetTime", async () => {
    const { clock, engine } = start({ rules: [rule("a", 2, { match: { path: "/v1/**" }, keyBy: "apiKey" })] })
    const resetTime = clock.now() + 60_000
    expect(await engine.checkRateLimit("client-7", { path: "/v1/x" })).toEqual({
      allowed: true,
      limit: 2,
      remaining: 1,
      resetTime,
    })
    expect(await engine.checkRateLimit("client-7", { path: "/v1/x", cost: 2 })).toMatchObject({
      allowed: false,
      remaining: 1,
    })
    expect(await engine.checkRateLimit("client-8", { path: "/v1/x" })).toMatchObject({ remaining: 1 })
    expect(await engine.checkRateLimit("client-7", { path: "/v2" })).toMatchObject({
      allowed: true,
      limit: Number.POSITIVE_INFINITY,
    })
  })

  it("decides at the timestamp it is given", async () => {
    const { clock, engine } = start({ rules: [rule("a", 1)] })
    const at = clock.now()
    await engine.checkRateLimit("user:1", {}, at)
    expect((await engine.checkRateLimit("user:1", {}, at + 59_999)).allowed).toBe(false)
    expect((await engine.checkRateLimit("user:1", {}, at + 60_000)).allowed).toBe(true)
    await expect(engine.checkRateLimit("user:1", {}, -1)).rejects.toThrow("TIME_INVALID")
  })

  it("reads the prefixes ip:, user: and apiKey:, and checks one rule by its id", async () => {
    const { engine } = start({
      rules: [rule("a", 1, { keyBy: "ip", deny: ["user:bad"] }), rule("b", 5, { match: { path: "/b" } })],
    })
    expect((await engine.checkRateLimit("ip:1.1.1.1")).allowed).toBe(true)
    expect((await engine.check({ ip: "1.1.1.1" })).allowed).toBe(false)
    expect((await engine.checkRateLimit("user:bad")).allowed).toBe(false)
    expect(await engine.checkRateLimit("anyone", { rule: "b" })).toMatchObject({ limit: 5, remaining: 4 })
  })

  describe.each<[string, Partial<RuleSpec>]>([
    ["ip", { keyBy: "ip" }],
    ["user", { keyBy: "user" }],
    ["apiKey", { keyBy: "apiKey" }],
    ["user and route", { keyBy: ["user", "route"], match: { path: "/v1/**" } }],
    ["ip and method", { keyBy: ["ip", "method"] }],
  ])("under a rule that counts by %s", (_what, counted) => {
    const context = { path: "/v1/items", method: "GET" }

    it.each([
      ["user_abc", "client:user_abc", "user:user_abc", "client:user:user_abc"],
      ["1.2.3.4", "client:1.2.3.4", "ip:1.2.3.4", "ip:::ffff:1.2.3.4"],
      ["2001:db8::1", "ip:2001:db8::1", "ip:2001:DB8:0::2"],
    ])("counts %s once in whatever spelling, with and without the id of the rule", async (...spellings) => {
      const { engine } = start({ rules: [rule("a", 100, counted)] })
      let left = 100
      for (const client of spellings) {
        expect((await engine.checkRateLimit(client, context)).remaining).toBe(--left)
        expect((await engine.checkRateLimit(client, { ...context, rule: "a" })).remaining).toBe(--left)
      }
      expect((await engine.checkRateLimit("somebody else", context)).remaining).toBe(99)
    })
  })

  it("counts a client under the one counter of a rule that counts all together", async () => {
    const { engine } = start({ rules: [rule("a", 10, { keyBy: "global" })] })
    await engine.checkRateLimit("one", { rule: "a" })
    expect((await engine.checkRateLimit("two", { rule: "a" })).remaining).toBe(8)
    expect((await engine.checkRateLimit("three")).remaining).toBe(7)
  })

  it("names a client by its user under a rule that its request gives no key for", async () => {
    const { engine } = start({ rules: [rule("a", 10, { keyBy: "header:x-tenant" })] })
    await engine.checkRateLimit("one", { rule: "a" })
    expect((await engine.checkKey("a", "user:one", { cost: 0 })).remaining).toBe(9)
  })

  it.each([
    [{ pth: "/v1" }, "ruleContext.pth: does not exist; did you mean path? [OPTION_UNKNOWN]"],
    [{ client: "user:1" }, "[OPTION_UNKNOWN]"],
    [[], "ruleContext: must be an object, got an array [OPTION_TYPE]"],
    [null, "ruleContext: must be an object, got null [OPTION_TYPE]"],
  ])("refuses the context %o", async (context, message) => {
    const { engine } = start({ rules: [rule("a", 1)] })
    await expect(engine.checkRateLimit("user:1", context as object)).rejects.toThrow(message)
  })

  it("refuses a timestamp in seconds, and says so", async () => {
    const { clock, engine } = start({ rules: [rule("a", 1)] })
    await expect(engine.checkRateLimit("user:1", {}, Math.floor(clock.now() / 1000))).rejects.toThrow(
      /^timestamp: must be in milliseconds .* seconds: multiply it by 1000, got \d{10} \[TIME_INVALID\]$/,
    )
    expect((await engine.checkRateLimit("user:1", {}, 0)).allowed).toBe(true)
  })

  it.each([
    ["apiKey:sk-secret", { apiKey: "sk-secret" }],
    ["ip:2001:db8:1:2:3::4", { ip: "2001:db8:1:2:ffff::1" }],
    ["ip:::ffff:203.0.113.7", { ip: "203.0.113.7" }],
    ["user:42", { user: "42" }],
  ])("counts %s by one rule under the key that a request of it has", async (client, request) => {
    const keys: unknown[] = []
    const { engine } = start(
      { rules: [rule("a", 1, { keyBy: client.split(":")[0] as string })] },
      { onDecision: ({ decision }) => keys.push(decision.rules[0]?.key) },
    )
    expect((await engine.checkRateLimit(client, { rule: "a" })).allowed).toBe(true)
    expect((await engine.check(request)).allowed).toBe(false)
    expect(keys[0]).toBe(keys[1])
    expect(keys.join()).not.toContain("secret")
  })
})
