import { afterEach, describe, expect, it, vi } from "vitest"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { shardedStore } from "../../stores/sharded/sharded-store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RuleRequest } from "../identity/rule-request.js"
import type { RuleSetDocument, RuleSpec } from "../language/schema.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"
import type { RuleEngineOptions } from "./engine-options.js"

const engines: RuleEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

function start(
  set: Partial<RuleSetDocument> & { rules: RuleSpec[] },
  options: Partial<RuleEngineOptions> = {},
) {
  const clock = new ManualClock()
  const engine = createRuleEngine({ rules: { version: 1, ...set }, clock, ...options })
  engines.push(engine)
  return { clock, engine }
}

/** A rule of so many requests a minute. */
function rule(id: string, limit: number, more: Partial<RuleSpec> = {}): RuleSpec {
  return { id, limits: [{ limit, window: "1m", algorithm: "fixed-window" }], ...more }
}

const from = (ip: string, more: RuleRequest = {}): RuleRequest => ({ method: "GET", path: "/", ip, ...more })

describe("which rules apply", () => {
  it("allows a request that no rule matches, and does not count it", async () => {
    const { engine } = start({ rules: [rule("a", 1, { match: { path: "/a" } })] })
    for (let i = 0; i < 5; i++) {
      expect(await engine.check(from("1.1.1.1", { path: "/b" }))).toMatchObject({
        allowed: true,
        reason: "no-rule",
        remaining: Number.POSITIVE_INFINITY,
        headers: "none",
      })
    }
  })

  it("checks every matching rule as one decision: all are charged, or none", async () => {
    const { engine } = start({
      rules: [rule("all", 10), rule("writes", 1, { match: { method: "POST" } })],
    })
    const post = from("1.1.1.1", { method: "POST" })
    expect((await engine.check(post)).allowed).toBe(true)
    const denied = await engine.check(post)
    expect(denied).toMatchObject({ allowed: false, rule: "writes", deniedBy: "writes", reason: "limit" })
    expect(denied.rules.map(({ rule, allowed }) => [rule, allowed])).toEqual([
      ["all", true],
      ["writes", false],
    ])
    expect((await engine.peek(from("1.1.1.1"))).remaining).toBe(9)
  })

  it("replaces a rule with replaces, and only when it matches itself", async () => {
    const { engine } = start({
      rules: [rule("usual", 1), rule("upload", 5, { match: { path: "/upload" }, replaces: ["usual"] })],
    })
    const upload = from("1.1.1.1", { path: "/upload" })
    for (let i = 0; i < 5; i++) expect((await engine.check(upload)).allowed).toBe(true)
    expect(await engine.check(upload)).toMatchObject({ allowed: false, rule: "upload" })
    expect((await engine.check(from("1.1.1.1"))).allowed).toBe(true)
    expect(await engine.check(from("1.1.1.1"))).toMatchObject({ allowed: false, rule: "usual" })
  })

  it("does not replace a rule by one that is in shadow mode or off", async () => {
    for (const mode of ["shadow", "off"] as const) {
      const { engine } = start({ rules: [rule("usual", 1), rule("new", 5, { mode, replaces: ["usual"] })] })
      await engine.check(from("1.1.1.1"))
      expect(await engine.check(from("1.1.1.1"))).toMatchObject({ allowed: false, rule: "usual" })
    }
  })

  it("refuses a path that has no canonical form", async () => {
    const { engine } = start({ rules: [rule("a", 5)] })
    expect(await engine.check(from("1.1.1.1", { path: "/a%2fb" }))).toMatchObject({
      allowed: false,
      reason: "bad-path",
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    const keeping = start({ identity: { encodedSlashes: "keep" }, rules: [rule("a", 5)] })
    expect((await keeping.engine.check(from("1.1.1.1", { path: "/a%2Fb" }))).allowed).toBe(true)
  })
})

describe("the key of a request", () => {
  it.each<[RuleSpec["keyBy"], RuleRequest, string]>([
    [undefined, from("203.0.113.7"), "ip:203.0.113.7"],
    ["ip", from("2001:db8:1:2:3::4"), "ip:2001:db8:1:2::/64"],
    ["ip", from("::ffff:203.0.113.7"), "ip:203.0.113.7"],
    ["user", { user: "42" }, "user:42"],
    ["header:X-Tenant", { headers: { "x-tenant": "acme" } }, "header:x-tenant:acme"],
    ["header:x-tenant", { headers: new Headers({ "x-tenant": "acme" }) }, "header:x-tenant:acme"],
    ["query:q", { path: "/search?q=a+b&p=c" }, "query:q:a b"],
    ["cookie:sid", { headers: { cookie: "a=1; sid=xyz; b=2" } }, "cookie:sid:xyz"],
    ["method", { method: "PUT" }, "method:PUT"],
    ["method", { method: "put" }, "method:PUT"],
    ["host", { headers: { host: "Api.Example.com:8080" } }, "host:api.example.com"],
    ["route", { path: "/x", route: "/:any" }, "route:/:any"],
    ["global", {}, "global"],
    [["user", "method"], { user: "a,b%", method: "GET" }, "user:a%2Cb%25,method:GET"],
  ])("by %o", async (keyBy, request, key) => {
    const { engine } = start({ rules: [rule("a", 5, keyBy === undefined ? {} : { keyBy })] })
    const decision = await engine.check(request)
    expect(decision.rules[0]?.key).toBe(key)
  })

  it("by a parameter of the path, in the case in which paths are compared", async () => {
    const { engine } = start({
      rules: [rule("a", 1, { match: { path: "/items/:id/**" }, keyBy: ["param:id", "route"] })],
    })
    expect((await engine.check({ path: "/items/AbC/x" })).rules[0]?.key).toBe(
      "param:id:abc,route:/items/:id/**",
    )
    expect((await engine.check({ path: "/items/other" })).allowed).toBe(true)
    for (const path of ["/Items/AbC/y", "/items/ABC/x", "/items/%61bc/x", "/items/abc;v=2/x"])
      expect((await engine.check({ path })).allowed).toBe(false)
  })

  it("keeps parts apart that would join to the same text", async () => {
    const { engine } = start({ rules: [rule("a", 1, { keyBy: ["header:a", "header:b"] })] })
    expect((await engine.check({ headers: { a: "1,header:b:2", b: "3" } })).allowed).toBe(true)
    expect((await engine.check({ headers: { a: "1", b: "2,header:b:3" } })).allowed).toBe(true)
  })

  it("hashes long values, and short ones that look like a hash", async () => {
    const { engine } = start({ rules: [rule("a", 1, { keyBy: "header:x" })] })
    const long = await engine.check({ headers: { x: "v".repeat(10_000) } })
    const key = long.rules[0]?.key as string
    expect(key).toMatch(/^header:x:sha256-[\w-]{22}$/)
    const forged = await engine.check({ headers: { x: key.slice("header:x:".length) } })
    expect(forged.allowed).toBe(true)
  })

  it("by API key without ever showing it", async () => {
    const { engine } = start({ rules: [rule("a", 1, { keyBy: "apiKey" })] })
    const decision = await engine.check({ headers: { "x-api-key": "sk-secret" } })
    expect(decision.rules[0]?.key).toBe(`apiKey:${engine.hashApiKey("sk-secret")}`)
    expect(JSON.stringify([decision, await engine.explain({ apiKey: "sk-secret" })])).not.toContain(
      "sk-secret",
    )
    expect((await engine.check({ apiKey: "sk-secret" })).allowed).toBe(false)
  })

  it.each<[string, RuleRequest]>([
    ["header:x-api-key", { headers: { "x-api-key": "sk-secret" } }],
    ["header:Authorization", { headers: { authorization: "Bearer sk-secret" } }],
    ["header:cookie", { headers: { cookie: "sid=sk-secret" } }],
    ["header:x-token", { headers: { "x-token": "sk-secret" } }],
    ["query:KEY", { path: "/?key=sk-secret" }],
  ])("by the hash of a credential when a rule counts by %s", async (keyBy, request) => {
    const identity = { apiKey: { header: "X-Token", query: "key" } }
    const { engine } = start({ identity, rules: [rule("a", 1, { keyBy })] })
    expect((await engine.check(request)).rules[0]?.key).toMatch(/:[\w-]{22}$/)
    expect((await engine.check(request)).allowed).toBe(false)
  })

  it("never reads inherited properties such as constructor", async () => {
    const { engine } = start({ rules: [rule("a", 1, { keyBy: ["header:constructor", "header:__proto__"] })] })
    const decision = await engine.check(from("1.1.1.1", { headers: {} }))
    expect(decision.rules[0]?.key).toBe("ip:1.1.1.1,ip:1.1.1.1")
  })

  it("by a cookie in any of several header lines", async () => {
    const { engine } = start({ rules: [rule("a", 1, { keyBy: "cookie:b" })] })
    const headers = { cookie: ["a=1", "b=2"] }
    expect((await engine.check({ headers })).rules[0]?.key).toBe("cookie:b:2")
  })

  it("reads the API key from the configured header, without its scheme", async () => {
    const { engine } = start({
      identity: { apiKey: { header: "Authorization", query: "key" } },
      rules: [rule("a", 1, { keyBy: "apiKey" })],
    })
    expect((await engine.check({ headers: { authorization: "Bearer abc" } })).allowed).toBe(true)
    expect((await engine.check({ headers: { authorization: "bearer  abc" } })).allowed).toBe(false)
    expect((await engine.check({ path: "/?key=abc" })).allowed).toBe(false)
  })

  it.each([
    ["ip", true, "ip:1.1.1.1"],
    ["skip", true, undefined],
    ["deny", false, undefined],
  ] as const)("handles a request without the key by onMissingKey: %s", async (way, allowed, key) => {
    const { engine } = start({ rules: [rule("a", 5, { keyBy: "user", onMissingKey: way })] })
    const decision = await engine.check(from("1.1.1.1"))
    expect(decision).toMatchObject({ allowed, reason: way === "deny" ? "missing-key" : expect.any(String) })
    expect(decision.rules[0]?.key).toBe(key)
  })

  it("treats a request without a method as one without a key, if the method is the key", async () => {
    const rules = [rule("a", 5, { keyBy: "method", onMissingKey: "deny" })]
    expect(await start({ rules }).engine.check({ path: "/" })).toMatchObject({
      allowed: false,
      reason: "missing-key",
    })
  })

  it("denies a request without any address instead of allowing it", async () => {
    const { engine } = start({ rules: [rule("a", 5, { keyBy: "user" })] })
    expect(await engine.check({})).toMatchObject({ allowed: false, reason: "missing-key", rule: "a" })
  })

  it("believes users, tiers and costs in headers only from a trusted proxy", async () => {
    const set = {
      identity: { trustedProxies: ["10.0.0.0/8"], user: { header: "X-User" }, tier: { header: "x-tier" } },
      rules: [
        rule("a", 10, { keyBy: "user", cost: { header: "x-cost" }, tiers: { pro: "unlimited" as const } }),
      ],
    }
    const headers = { "x-user": "42", "x-cost": "3", "x-forwarded-for": "6.6.6.6, 203.0.113.7" }
    const { engine } = start(set)
    const trusted = await engine.check(from("10.1.1.1", { headers }))
    expect(trusted).toMatchObject({ remaining: 7, rules: [{ key: "user:42" }] })
    expect((await engine.check(from("10.1.1.1", { headers: { ...headers, "x-tier": "pro" } }))).reason).toBe(
      "no-rule",
    )
    const stranger = await engine.check(from("198.51.100.1", { headers: { ...headers, "x-tier": "pro" } }))
    expect(stranger).toMatchObject({ remaining: 9, rules: [{ key: "ip:198.51.100.1" }] })
  })
})

describe("tiers", () => {
  const tiers = {
    pro: { limits: [{ limit: 5, window: "1m", algorithm: "fixed-window" as const }] },
    enterprise: "unlimited" as const,
  }

  it("replace the limits of the rule", async () => {
    const { engine } = start({ rules: [rule("a", 1, { tiers })] })
    expect(await engine.check(from("1.1.1.1", { tier: "pro" }))).toMatchObject({ limit: 5, tier: "pro" })
    expect(await engine.check(from("1.1.1.1", { tier: "enterprise" }))).toMatchObject({ reason: "no-rule" })
    expect(await engine.check(from("2.2.2.2", { tier: "unheard-of" }))).toMatchObject({ limit: 1 })
  })

  it("share their counters: a client that moves up keeps what it used", async () => {
    const { engine } = start({ rules: [rule("a", 1, { tiers })] })
    await engine.check(from("1.1.1.1"))
    expect(await engine.check(from("1.1.1.1", { tier: "pro" }))).toMatchObject({
      allowed: true,
      remaining: 3,
    })
  })

  it("come from the request, then a function, then the lists, then the default", async () => {
    const tierOf = vi.fn(async ({ user }: RuleRequest) => (user === "1" ? "pro" : undefined))
    const { engine } = start(
      {
        tiers: { enterprise: ["user:1", "user:2", "ip:10.0.0.0/8"] },
        defaults: { tier: "free" },
        rules: [rule("a", 9, { tiers })],
      },
      { tierOf },
    )
    const tierOfRequest = async (request: RuleRequest) => (await engine.check(from("1.1.1.1", request))).tier
    expect(await tierOfRequest({ user: "1", tier: "given" })).toBe("given")
    expect(await tierOfRequest({ user: "1" })).toBe("pro")
    expect(await tierOfRequest({ user: "2" })).toBe("enterprise")
    expect(await tierOfRequest({ ip: "10.2.3.4" })).toBe("enterprise")
    expect(await tierOfRequest({ user: "3" })).toBe("free")
  })

  it("are matched by rules", async () => {
    const { engine } = start({ rules: [rule("a", 1, { match: { tier: ["free", "trial"] } })] })
    expect((await engine.check(from("1.1.1.1", { tier: "trial" }))).rule).toBe("a")
    expect((await engine.check(from("1.1.1.1", { tier: "pro" }))).rule).toBeUndefined()
  })
})

describe("overrides, lists and costs", () => {
  it("gives one client other limits until its end, with the counters it had", async () => {
    const { clock, engine } = start({
      overrides: [
        {
          client: "user:1",
          rule: "a",
          limits: [{ limit: 3, window: "1m", algorithm: "fixed-window" }],
          until: "2026-01-01T00:00:30Z",
        },
        { client: "ip:10.0.0.0/8", limits: "unlimited" },
      ],
      rules: [rule("a", 1, { keyBy: "user" }), rule("b", 100)],
    })
    const user = from("1.1.1.1", { user: "1" })
    for (let i = 0; i < 2; i++) expect((await engine.check(user)).allowed).toBe(true)
    clock.advance(30_000)
    expect(await engine.check(user)).toMatchObject({ allowed: false, rule: "a", limit: 1 })
    for (let i = 0; i < 9; i++)
      expect((await engine.check(from("10.9.9.9", { user: "2" }))).allowed).toBe(true)
  })

  it("finds a later override of a client whose first one has ended", async () => {
    const limits = (limit: number) => [{ limit, window: "1m", algorithm: "fixed-window" as const }]
    const { engine } = start({
      overrides: [
        { client: "user:1", limits: limits(7), until: "2025-01-01" },
        { client: "user:1", limits: limits(8) },
      ],
      rules: [rule("a", 1, { keyBy: "user" })],
    })
    expect((await engine.check({ user: "1" })).limit).toBe(8)
  })

  it("never limits clients on the allow list, and always denies clients on the deny list", async () => {
    const { engine } = start({
      allow: ["ip:10.0.0.0/8", "user:root"],
      deny: ["ip:10.6.6.6", "user:mallory"],
      rules: [rule("a", 1)],
    })
    for (let i = 0; i < 3; i++) expect((await engine.check(from("10.0.0.1"))).reason).toBe("allow-list")
    expect((await engine.check(from("1.1.1.1", { user: "root" }))).allowed).toBe(true)
    expect(await engine.check(from("10.6.6.6"))).toMatchObject({ allowed: false, reason: "deny-list" })
    expect(await engine.check(from("1.1.1.1", { user: "mallory" }))).toMatchObject({ allowed: false })
  })

  it("denies a client that is on both lists, of the set and of a rule", async () => {
    const both = { allow: ["ip:10.0.0.0/8"], deny: ["ip:10.0.0.5"] }
    const whole = start({ ...both, rules: [rule("a", 1)] })
    expect((await whole.engine.check(from("10.0.0.5"))).reason).toBe("deny-list")
    expect((await whole.engine.check(from("10.0.0.6"))).reason).toBe("allow-list")
    const one = start({ rules: [rule("a", 1, both)] })
    expect(await one.engine.check(from("10.0.0.5"))).toMatchObject({ reason: "deny-list", rule: "a" })
    expect((await one.engine.check(from("10.0.0.6"))).reason).toBe("no-rule")
  })

  it("has lists of one rule", async () => {
    const { engine } = start({ rules: [rule("a", 1, { allow: ["user:1"], deny: ["user:2"] }), rule("b", 9)] })
    expect((await engine.check(from("1.1.1.1", { user: "1" }))).rule).toBe("b")
    expect(await engine.check(from("1.1.1.1", { user: "2" }))).toMatchObject({
      reason: "deny-list",
      rule: "a",
    })
  })

  it("charges by method and path, the first entry that matches", async () => {
    const cost = {
      default: 2,
      by: [
        { method: "POST", path: "/x/**", cost: 5 },
        { path: "/x/**", cost: 0 },
      ],
    }
    const { engine } = start({ rules: [rule("a", 100, { cost, keyBy: "global" })] })
    expect((await engine.check({ method: "POST", path: "/x/1" })).remaining).toBe(95)
    expect((await engine.check({ method: "GET", path: "/x/1" })).remaining).toBe(95)
    expect((await engine.check({ method: "GET", path: "/y" })).remaining).toBe(93)
    expect((await engine.check({ method: "GET", path: "/y" }, { cost: 10 })).remaining).toBe(83)
    await expect(engine.check({}, { cost: -1 })).rejects.toThrow("COST_INVALID")
  })
})

describe("modes", () => {
  it("shadows decide with counters of their own, report, and never block", async () => {
    const { engine } = start({
      rules: [rule("now", 5), rule("next", 1, { mode: "shadow" }), rule("never", 1, { mode: "off" })],
    })
    expect(await engine.check(from("1.1.1.1"))).toMatchObject({ allowed: true, shadowDenied: [] })
    const second = await engine.check(from("1.1.1.1"))
    expect(second).toMatchObject({ allowed: true, rule: "now", remaining: 3, shadowDenied: ["next"] })
    expect(second.rules.map(({ rule, mode, allowed }) => [rule, mode, allowed])).toEqual([
      ["now", "enforce", true],
      ["next", "shadow", false],
    ])
  })

  it("a candidate is tried beside the enforced limits, on every request", async () => {
    const candidate = { limits: [{ limit: 2, window: "1m", algorithm: "fixed-window" as const }] }
    const { engine } = start({ rules: [rule("a", 1, { candidate })] })
    const seen: unknown[] = []
    for (let i = 0; i < 3; i++) {
      const { allowed, rules, shadowDenied } = await engine.check(from("1.1.1.1"))
      seen.push([allowed, rules[1]?.candidate, shadowDenied])
    }
    expect(seen).toEqual([
      [true, true, []],
      [false, true, []],
      [false, true, ["a"]],
    ])
  })

  it("a shadow without a key, or on its deny list, is reported too", async () => {
    const { engine } = start({
      rules: [
        rule("a", 1, { mode: "shadow", keyBy: "user", onMissingKey: "deny" }),
        rule("b", 1, { mode: "shadow", deny: ["ip:1.1.1.1"] }),
      ],
    })
    expect(await engine.check(from("1.1.1.1"))).toMatchObject({ allowed: true, shadowDenied: ["a", "b"] })
  })

  it("a rule that leaves shadow mode starts with new counters", async () => {
    const store = memoryStore()
    const shadow = start({ rules: [rule("a", 1, { mode: "shadow" })] }, { store })
    for (let i = 0; i < 3; i++) await shadow.engine.check(from("1.1.1.1"))
    const enforced = start({ rules: [rule("a", 1)] }, { store })
    expect((await enforced.engine.check(from("1.1.1.1"))).allowed).toBe(true)
    await store.close()
  })
})

describe("a decision", () => {
  it("carries rule, limit, tier, mode, revision, and the numbers of the tightest limit", async () => {
    const { engine } = start({
      rules: [
        {
          id: "api",
          limits: [
            { name: "burst", algorithm: "token-bucket", limit: 10, window: "1s", burst: 20 },
            { name: "hourly", limit: 15, window: "1h", algorithm: "fixed-window" },
          ],
          headers: "draft-7",
          response: { status: 503, body: "slow down" },
        },
      ],
    })
    expect(await engine.check(from("1.1.1.1", { tier: "pro" }))).toMatchObject({
      rule: "api",
      limitName: "hourly",
      limit: 15,
      remaining: 14,
      tier: "pro",
      mode: "enforce",
      revision: 1,
      headers: "draft-7",
      response: { status: 503, body: "slow down" },
      limits: [
        { name: "api/burst", limit: 20, remaining: 19, windowMs: 1000 },
        { name: "api/hourly", limit: 15, remaining: 14, windowMs: 3_600_000 },
      ],
      policies: [
        { name: "api/burst", quota: 10, windowMs: 1000 },
        { name: "api/hourly", quota: 15, windowMs: 3_600_000 },
      ],
    })
    const denied = await engine.check(from("1.1.1.1"), { cost: 17 })
    expect(denied).toMatchObject({
      limitName: "hourly",
      deniedBy: "api/hourly",
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
  })

  it("gives the same list of policies for the same limits, so that headers are made once", async () => {
    const { engine } = start({ rules: [rule("a", 5)] })
    const [one, two] = [await engine.check(from("1.1.1.1")), await engine.check(from("2.2.2.2"))]
    expect(one.policies).toBe(two.policies)
  })

  it("is passed to onDecision, and a listener that throws changes nothing", async () => {
    const onDecision = vi.fn(() => {
      throw new Error("listener")
    })
    vi.spyOn(process, "emitWarning").mockImplementation(() => {})
    const { engine } = start({ rules: [rule("a", 5)] }, { onDecision })
    const request = from("1.1.1.1")
    const decision = await engine.check(request)
    expect(onDecision).toHaveBeenCalledExactlyOnceWith({ decision, request })
    expect(decision.allowed).toBe(true)
    vi.restoreAllMocks()
  })

  it("is refunded, at most what it was charged", async () => {
    const { engine } = start({ rules: [rule("a", 5), rule("b", 9, { cost: 3 })] })
    const decision = await engine.check(from("1.1.1.1"))
    await engine.refund(decision)
    const after = await engine.peek(from("1.1.1.1"))
    expect(after.rules.map(({ limits }) => limits[0]?.remaining)).toEqual([5, 9])
    const denied = await engine.check(from("1.1.1.1"), { cost: 6 })
    await engine.refund(denied)
    await engine.refund(decision)
    expect((await engine.peek(from("1.1.1.1"))).remaining).toBe(5)
  })

  it("has the delay of a queued request", async () => {
    const limits = [
      { limit: 10, window: "1s", algorithm: "leaky-bucket" as const, overflow: "queue" as const },
    ]
    const { engine } = start({ rules: [{ id: "q", limits }] })
    await engine.check(from("1.1.1.1"))
    expect(await engine.check(from("1.1.1.1"))).toMatchObject({ allowed: true, delayMs: 100 })
  })
})

describe("keys by name", () => {
  it("are the keys that decisions show", async () => {
    const { engine } = start({ rules: [rule("a", 3, { keyBy: "user" })] })
    await engine.check({ user: "42" })
    expect(await engine.checkKey("a", "user:42")).toMatchObject({ remaining: 1, rule: "a" })
    await engine.refundKey("a", "user:42", 2)
    expect((await engine.checkKey("a", "user:42", { cost: 0 })).remaining).toBe(3)
    await engine.checkKey("a", "user:42", { cost: 3 })
    await engine.resetKey("a", "user:42")
    expect((await engine.check({ user: "42" })).remaining).toBe(2)
  })

  it("are checked without a promise on a store in memory, and only there", async () => {
    const { engine } = start({ rules: [rule("a", 3, { keyBy: "user" })] })
    await engine.check({ user: "42" })
    expect(engine.checkKeySync("a", "user:42", { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 })
    expect(engine.checkKeySync("a", "user:42").allowed).toBe(false)
    const store = shardedStore([{ name: "only", store: memoryStore() }])
    const waiting = start({ rules: [rule("a", 3)] }, { store })
    expect(() => waiting.engine.checkKeySync("a", "user:42")).toThrow("STORE_NOT_SYNC")
    await store.close()
  })

  it("can be blocked for a while", async () => {
    const { clock, engine } = start({ rules: [rule("a", 3), rule("b", 3)] })
    await engine.blockKey("a", "ip:1.1.1.1", "10s")
    expect(await engine.check(from("1.1.1.1"))).toMatchObject({
      allowed: false,
      reason: "block",
      rule: "a",
      deniedBy: "block",
      retryAfterMs: 10_000,
      remaining: 0,
    })
    clock.advance(10_000)
    expect(await engine.check(from("1.1.1.1"))).toMatchObject({ allowed: true, remaining: 2 })
    await engine.blockKey("a", "ip:1.1.1.1", "10s")
    await engine.unblockKey("a", "ip:1.1.1.1")
    expect((await engine.check(from("1.1.1.1"))).allowed).toBe(true)
  })

  it("meet their overrides and tiers", async () => {
    const { engine } = start({
      overrides: [{ client: "user:1", limits: [{ limit: 9, window: "1m" }] }],
      rules: [rule("a", 3, { tiers: { pro: { limits: [{ limit: 7, window: "1m" }] } } })],
    })
    expect((await engine.checkKey("a", "user:1")).limit).toBe(9)
    expect((await engine.checkKey("a", "user:2", { tier: "pro" })).limit).toBe(7)
  })

  it("of a rule that does not exist are a mistake", async () => {
    const { engine } = start({ rules: [rule("a", 3)] })
    await expect(engine.checkKey("ghost", "x")).rejects.toThrow(
      'rule: must be the id of a rule, got "ghost" [RULE_UNKNOWN]',
    )
    await expect(engine.checkKey("a", "")).rejects.toThrow("KEY_INVALID")
  })
})

describe("an engine", () => {
  it("checks many requests in order, also with keys on several servers", async () => {
    const nodes = ["one", "two", "three"].map((name) => ({ name, store: memoryStore() }))
    const { engine } = start(
      {
        rules: [
          rule("user", 1, { keyBy: "user" }),
          rule("address", 100, { keyBy: "ip", match: { path: "/both" } }),
        ],
      },
      { store: shardedStore(nodes), tierOf: async ({ user }) => (user === "0" ? "slow" : undefined) },
    )
    const users = Array.from({ length: 20 }, (_, i) => String(i))
    const decisions = await engine.checkMany(
      users.flatMap((user) => [
        from("1.1.1.1", { path: "/both", user }),
        from("1.1.1.1", { path: "/one", user }),
      ]),
    )
    expect(decisions.map(({ allowed }) => allowed)).toEqual(users.flatMap(() => [true, false]))
    expect(decisions[0]?.rules.map((outcome) => outcome.rule)).toEqual(["user", "address"])
    await engine.close()
    await Promise.all(nodes.map(({ store }) => store.close()))
  })

  it("decides many requests in one go", async () => {
    const { engine } = start({ rules: [rule("a", 2)] })
    const decisions = await engine.checkMany([
      from("1.1.1.1"),
      from("1.1.1.1"),
      { ...from("1.1.1.1"), cost: 0 },
      from("1.1.1.1"),
    ])
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
  })

  it("decides without a promise on a store in memory", () => {
    const { engine } = start({ rules: [rule("a", 1)] })
    expect(engine.isSync).toBe(true)
    expect(engine.checkSync(from("1.1.1.1")).allowed).toBe(true)
    expect(engine.checkSync(from("1.1.1.1")).allowed).toBe(false)
    const waiting = start({ rules: [rule("a", 1)] }, { tierOf: () => "pro" })
    expect(waiting.engine.isSync).toBe(false)
    expect(() => waiting.engine.checkSync(from("1.1.1.1"))).toThrow("STORE_NOT_SYNC")
  })

  it("keeps what was charged when a limit changes", async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const before = start({ rules: [rule("a", 5), rule("gone", 5)] }, { store, clock })
    for (let i = 0; i < 3; i++) await before.engine.check(from("1.1.1.1"))
    const after = start({ rules: [rule("a", 4)] }, { store, clock })
    expect(await after.engine.check(from("1.1.1.1"))).toMatchObject({ allowed: true, remaining: 0 })
    await store.close()
  })

  it("refuses mistakes in its options and in its rules", () => {
    const rules: RuleSetDocument = { version: 1, rules: [] }
    expect(() => createRuleEngine({ rules, stor: 1 } as unknown as RuleEngineOptions)).toThrow(
      /did you mean store\?/,
    )
    expect(() => createRuleEngine({ rules, secret: "" })).toThrow("OPTION_TYPE")
    expect(() => createRuleEngine({} as RuleEngineOptions)).toThrow("OPTION_MISSING")
    expect(() => createRuleEngine({ rules: "version: 3" })).toThrow("RULES_INVALID")
    expect(() =>
      createRuleEngine({
        rules: "version: 1\nrules: [{ id: a, limits: [{ limit: 5, window: 1s }] }]",
        guardRails: { maxLimit: 4 },
      }),
    ).toThrow("maxLimit")
  })

  it.each<[string, unknown, string]>([
    ["no request", undefined, "request: must be an object, got undefined"],
    ["a number as the user", { user: 42 }, "request.user: must be a string, got 42"],
    ["a number as the path", { path: 1 }, "request.path: must be a string, got 1"],
    ["an object as the address", { ip: {} }, "request.ip: must be a string"],
    ["a text as descriptors", { descriptors: "a" }, "request.descriptors: must be a list"],
    ["a descriptor without entries", { descriptors: [{}] }, "request.descriptors[0].entries: must be a list"],
    [
      "an entry without a value",
      { descriptors: [{ entries: [{ key: "a" }] }] },
      "request.descriptors[0].entries: must be a list of keys and values",
    ],
  ])("refuses %s, by its place", async (_name, request, said) => {
    const { engine } = start({ rules: [rule("a", 1, { keyBy: ["user", "ip"] })] })
    await expect(engine.check(request as RuleRequest)).rejects.toMatchObject({
      code: "OPTION_TYPE",
      message: expect.stringContaining(said),
    })
  })

  it("treats null as not given", async () => {
    const { engine } = start({ rules: [rule("a", 1, { keyBy: "user" })] })
    const request = { ip: "1.1.1.1", user: null, tier: null } as unknown as RuleRequest
    expect((await engine.check(request)).rules[0]?.key).toBe("ip:1.1.1.1")
  })

  it.each<[string, Partial<RuleSetDocument>]>([
    ["the allow list", { allow: [`apiKey:${"h".repeat(22)}`] }],
    ["a tier", { tiers: { pro: [`apiKey:${"h".repeat(22)}`] } }],
    ["an override", { overrides: [{ client: `apiKey:${"h".repeat(22)}`, limits: "unlimited" }] }],
    ["a list of a rule", { rules: [rule("a", 1, { deny: [`apiKey:${"h".repeat(22)}`] })] }],
  ])("needs the secret that API keys on %s were hashed with", (_name, set) => {
    expect(() => start({ rules: [], ...set })).toThrow("SECRET_MISSING")
    start({ rules: [], ...set }, { secret: "shared" })
  })
})
