import { afterEach, describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RuleRequest } from "../identity/rule-request.js"
import type { RuleSetDocument } from "../language/schema.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"

const set: RuleSetDocument = {
  version: 1,
  allow: ["user:root"],
  deny: ["ip:6.6.6.6"],
  overrides: [{ client: "user:vip", rule: "api", limits: "unlimited" }],
  rules: [
    {
      id: "api",
      match: { path: "/v1/**" },
      keyBy: "user",
      onMissingKey: "skip",
      limits: [
        { name: "burst", limit: 2, window: "1s", algorithm: "token-bucket" },
        { name: "hourly", limit: 100, window: "1h", algorithm: "fixed-window" },
      ],
      candidate: { limits: [{ limit: 1, window: "1s", algorithm: "fixed-window" }] },
      tiers: { enterprise: "unlimited" },
      allow: ["user:friend"],
    },
    { id: "old", limits: [{ limit: 1, window: "1m" }] },
    {
      id: "upload",
      match: { method: "PUT", header: { "x-part": true } },
      limits: [{ limit: 5, window: "1m" }],
      replaces: ["old"],
    },
    { id: "off", mode: "off", limits: [{ limit: 1, window: "1m" }] },
    {
      id: "strict",
      match: { path: "/strict" },
      keyBy: "user",
      onMissingKey: "deny",
      deny: ["user:foe"],
      limits: [{ limit: 9, window: "1m" }],
    },
  ],
}

describe("explain", () => {
  let engine: RuleEngine
  const about = async (request: RuleRequest, rule: string) => {
    engine = createRuleEngine({ rules: set, clock: new ManualClock() })
    const { rules } = await engine.explain({ method: "GET", path: "/v1/x", ip: "1.1.1.1", ...request })
    return rules.find((one) => one.rule === rule)
  }
  afterEach(() => engine.close())

  it.each<[string, RuleRequest, string]>([
    ["api", { path: "/v2" }, 'path is "/v2", and must be /v1/**'],
    ["upload", {}, 'method is "GET", and must be PUT'],
    ["upload", { method: "PUT" }, "header x-part is not there, and must be any value"],
    ["off", {}, "it is off"],
    ["old", { method: "PUT", headers: { "x-part": "1" } }, 'rule "upload" takes its place'],
    ["api", { user: "friend" }, "user:friend is on its allow list"],
    ["api", {}, "the request has no key, and the rule skips those"],
  ])("says why %s does not apply to %o", async (rule, request, because) => {
    expect(await about(request, rule)).toMatchObject({ applies: false, because })
  })

  it.each<[string, RuleRequest, string]>([
    ["api", { user: "1" }, "the path matches /v1/**"],
    ["old", {}, "it matches every request"],
    ["upload", { method: "PUT", headers: { "x-part": "1" } }, "method and header match"],
    ["strict", { path: "/strict" }, "the request has no key, and the rule denies those"],
    ["strict", { path: "/strict", user: "foe" }, "user:foe is on its deny list"],
  ])("says why %s applies to %o", async (rule, request, because) => {
    expect(await about(request, rule)).toMatchObject({ applies: true, because })
  })

  it("shows key, cost and the state of each limit, and charges nothing", async () => {
    engine = createRuleEngine({ rules: set, clock: new ManualClock() })
    const request = { method: "GET", path: "/v1/x", user: "1", ip: "1.1.1.1" }
    await engine.check(request)
    for (let i = 0; i < 2; i++) {
      const { rules, decision } = await engine.explain(request)
      expect(rules[0]).toMatchObject({
        key: "user:1",
        cost: 1,
        limitsFrom: "rule",
        limits: [
          { name: "burst", limit: 2, remaining: 1, allowed: true },
          { name: "hourly", limit: 100, remaining: 99, allowed: true },
        ],
        candidate: [{ limit: 1, remaining: 0, allowed: false }],
      })
      expect(decision).toMatchObject({ allowed: false, rule: "old", shadowDenied: ["api"] })
    }
  })

  it.each<[RuleRequest, string]>([
    [
      { path: "/strict", user: "1", method: "PUT", headers: { "x-part": "1" } },
      'allowed: 5 of 5 left by limit "5/1m" of rule "upload"',
    ],
    [{ ip: "6.6.6.6" }, "denied: ip:6.6.6.6 is on the deny list"],
    [{ user: "root" }, "allowed: user:root is on the allow list"],
    [{ path: "/strict" }, 'denied: the request has no key for rule "strict"'],
    [{ path: "/strict", user: "foe" }, 'denied: user:foe is on the deny list of rule "strict"'],
    [{ path: "/a%00" }, "denied: the path has no canonical form (character)"],
  ])("sums up %o as a sentence", async (request, verdict) => {
    engine = createRuleEngine({ rules: set, clock: new ManualClock() })
    expect((await engine.explain({ method: "GET", path: "/v1/x", ip: "1.1.1.1", ...request })).verdict).toBe(
      verdict,
    )
  })

  it("shows no credential, wherever the request has it", async () => {
    engine = createRuleEngine({
      rules: {
        version: 1,
        identity: { apiKey: { header: "x-token", query: "Key" } },
        rules: [
          { id: "token", match: { header: { "X-Token": "a*" } }, limits: "unlimited" },
          { id: "query", match: { query: { key: "a*" } }, limits: "unlimited" },
          { id: "bearer", match: { header: { authorization: "Basic *" } }, limits: "unlimited" },
          { id: "session", match: { header: { cookie: "a*" } }, limits: "unlimited" },
          {
            id: "by-key",
            keyBy: ["apiKey", "header:x-token", "query:key"],
            limits: [{ limit: 9, window: 1 }],
          },
        ],
      },
    })
    const headers = { "x-token": "sk-1", authorization: "Bearer sk-2", cookie: "sid=sk-3" }
    const explained = await engine.explain({ path: "/?page=2&k%65y=sk-4&key=sk-5", headers, ip: "1.1.1.1" })
    expect(JSON.stringify(explained)).not.toContain("sk-")
    expect(explained.request.query).toBe("page=2&k%65y=***&key=***")
    expect(explained.rules[0]?.because).toBe("header x-token has a value that is not shown, and must be a*")
  })

  it("decides every rule with the cost it is given", async () => {
    expect(await about({}, "old")).toMatchObject({ cost: 1, limits: [{ allowed: true }] })
    const { rules } = await engine.explain({ ip: "1.1.1.1" }, { cost: 2 })
    expect(rules[1]).toMatchObject({ rule: "old", cost: 2, limits: [{ allowed: false }] })
  })

  it("sums up a denial with the wait, and a block", async () => {
    engine = createRuleEngine({ rules: set, clock: new ManualClock() })
    const request = { method: "PUT", headers: { "x-part": "1" }, path: "/up", ip: "1.1.1.1" }
    await engine.check(request, { cost: 5 })
    expect((await engine.explain(request)).verdict).toMatch(
      /^denied by limit "5\/1m" of rule "upload": it may pass in \d+/,
    )
    expect((await engine.explain(request, { cost: 6 })).verdict).toContain("it can never pass")
    await engine.blockKey("upload", "ip:1.1.1.1", "2m")
    expect((await engine.explain(request)).verdict).toBe(
      'denied: the key is blocked in rule "upload"; it may pass in 120000 ms',
    )
  })
})
