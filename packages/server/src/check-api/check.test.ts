import { afterEach, describe, expect, it } from "vitest"
import { testCore, waitingStore } from "../core.test-support.js"
import { startPlane, type TestPlane } from "./check-api.test-support.js"

const RULES = `
version: 1
rules:
  - id: per-user
    match: { path: /items/** }
    keyBy: user
    limits: [{ algorithm: sliding-window-log, limit: 2, window: 10s }]
    tiers:
      gold: { limits: [{ algorithm: sliding-window-log, limit: 5, window: 1m }] }
  - id: two-limits
    match: { path: /two }
    keyBy: ip
    limits:
      - { name: burst, algorithm: sliding-window-log, limit: 2, window: 10s }
      - { name: hourly, algorithm: sliding-window-log, limit: 100, window: 1h }
  - id: tried
    match: { path: /tried }
    keyBy: ip
    mode: shadow
    limits: [{ algorithm: sliding-window-log, limit: 1, window: 10s }]
  - id: tenants
    match: { path: /tenants }
    keyBy: "header:x-tenant"
    limits: [{ algorithm: sliding-window-log, limit: 1, window: 10s }]
  - id: quiet
    match: { path: /quiet }
    keyBy: ip
    headers: none
    limits: [{ algorithm: fixed-window, limit: 1, window: 10s }]
`

let plane: TestPlane

async function start(options = {}) {
  plane = await startPlane(testCore(RULES, options))
}

afterEach(() => plane.close())

const item = { method: "GET", path: "/items/7", user: "42" }

// A store that has to be waited for takes another way through the code than one in memory.
describe.each([
  ["at once", () => ({})],
  ["with a promise", () => ({ store: waitingStore() })],
])("POST /v1/check, decided %s", (_way, options) => {
  it("denies a request that could count for more than one client, with the reason", async () => {
    await start(options())
    for (const headers of [
      { "x-tenant": ["one", "two"] },
      { "x-tenant": "one", "X-Tenant": "two" },
      { "x-tenant": "one, two" },
    ]) {
      const { status, json } = await plane.post("/v1/check", { path: "/tenants", ip: "203.0.113.7", headers })
      expect(status).toBe(200)
      expect(json).toMatchObject({
        allowed: false,
        reason: "ambiguous-key",
        rule: "tenants",
        ambiguous: "header x-tenant must be given once",
        retryAfterMs: "never",
      })
    }
  })

  it("answers 200 with the whole decision", async () => {
    await start(options())
    const { status, json, headers } = await plane.post("/v1/check", item)
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("application/json")
    expect(headers.get("cache-control")).toBe("no-store")
    expect(json).toEqual({
      allowed: true,
      limit: 2,
      remaining: 1,
      used: 1,
      windowMs: 10_000,
      retryAfterMs: 0,
      resetAfterMs: 10_000,
      resetAt: plane.core.clock.now() + 10_000,
      delayMs: 0,
      reason: "within-limits",
      rule: "per-user",
      limitName: expect.any(String),
      key: "user:42",
      revision: 1,
    })
  })

  it("answers a denial with 200, or with the status that the caller asks for", async () => {
    await start(options())
    await plane.post("/v1/check", { ...item, cost: 2 })
    plane.core.clock.advance(500)
    const denied = await plane.post("/v1/check", item)
    expect(denied.status).toBe(200)
    expect(denied.json).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 9_500, reason: "limit" })
    for (const status of [429, 403, 503]) {
      const answer = await plane.post(`/v1/check?status=${status}`, item)
      expect(answer.status).toBe(status)
      expect(answer.json).toEqual(denied.json)
    }
    plane.core.clock.advance(9_500)
    expect((await plane.post("/v1/check?status=429", item)).status).toBe(200)
  })

  it("answers five fields and no headers about limits, if the caller asks for a small answer", async () => {
    await start(options())
    for (const path of ["/v1/check?answer=small", "/v1/check?answer=small&status=429"]) {
      const { status, text, headers } = await plane.post(path, item)
      expect(status).toBe(200)
      expect(text).toMatch(
        /^\{"allowed":true,"limit":2,"remaining":[01],"retryAfterMs":0,"resetAfterMs":10000\}$/,
      )
      expect([...headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([])
    }
    const denied = await plane.post("/v1/check?status=429&answer=small", item)
    expect(denied.status).toBe(429)
    expect(denied.json).toEqual({
      allowed: false,
      limit: 2,
      remaining: 0,
      retryAfterMs: 10_000,
      resetAfterMs: 10_000,
    })
    const nothing = await plane.post("/v1/peek?answer=small", { path: "/nowhere" })
    expect(nothing.json).toMatchObject({ allowed: true, limit: null, remaining: null })
  })

  it("sends rate limit headers, with the wait rounded up to whole seconds", async () => {
    await start(options())
    const { headers } = await plane.post("/v1/check", { ...item, cost: 2 })
    expect(headers.get("x-ratelimit-limit")).toBe("2")
    expect(headers.get("x-ratelimit-remaining")).toBe("0")
    expect(headers.get("ratelimit-policy")).toMatch(/;q=2;w=10$/)
    expect(headers.get("retry-after")).toBeNull()
    plane.core.clock.advance(500)
    expect((await plane.post("/v1/check", item)).headers.get("retry-after")).toBe("10")
  })

  it("checks one rule by id and key, on the same counter as a request with that key", async () => {
    await start(options())
    await plane.post("/v1/check", item)
    const { json } = await plane.post("/v1/check", { rule: "per-user", key: "user:42" })
    expect(json).toMatchObject({ allowed: true, remaining: 0, key: "user:42" })
    expect((await plane.post("/v1/check", item)).json.allowed).toBe(false)
    const gold = await plane.post("/v1/check", { rule: "per-user", key: "user:42", tier: "gold" })
    expect(gold.json).toMatchObject({ allowed: true, limit: 5, remaining: 4 })
  })

  it("notifies the observers, with a cost of 0 for a peek", async () => {
    await start(options())
    await plane.post("/v1/check", item)
    await plane.post("/v1/check", { rule: "per-user", key: "user:42" })
    await plane.post("/v1/peek", item)
    expect(plane.core.decided.map(({ protocol, cost }) => [protocol, cost])).toEqual([
      ["http", undefined],
      ["http", undefined],
      ["http", 0],
    ])
  })

  it.each([
    [{ ...item, cost: -1 }, "COST_INVALID"],
    [{ ...item, cost: 1.5 }, "COST_INVALID"],
    [{ ...item, at: -1 }, "TIME_INVALID"],
    [{ ...item, at: null }, "BODY_FIELD_INVALID"],
    [{ ...item, cost: "2" }, "BODY_FIELD_INVALID"],
    [{ ...item, user: 42 }, "BODY_FIELD_INVALID"],
    [{ ...item, headers: "x: y" }, "BODY_FIELD_INVALID"],
    [{ ...item, headers: { "x-tenant": [1] } }, "BODY_FIELD_INVALID"],
    [{ ...item, descriptors: {} }, "BODY_FIELD_INVALID"],
    [{ descriptors: [{ entries: [{ key: "k" }] }] }, "BODY_FIELD_INVALID"],
    [{ descriptors: [{ entries: [{ key: "k", value: "v", x: 1 }] }] }, "BODY_UNKNOWN_FIELD"],
    [{ ...item, csot: 2 }, "BODY_UNKNOWN_FIELD"],
    ['{"__proto__": {"user": "1"}}', "BODY_UNKNOWN_FIELD"],
    [{ key: "user:42" }, "BODY_FIELD_INVALID"],
    [{ rule: "per-user" }, "BODY_FIELD_INVALID"],
    [{ rule: "per-user", key: "user:42", path: "/" }, "BODY_FIELD_INVALID"],
    [{ rule: "per-user", key: "" }, "KEY_INVALID"],
    [{ rule: "nobody", key: "user:42" }, "RULE_UNKNOWN"],
    ["", "BODY_INVALID_JSON"],
    ["{", "BODY_INVALID_JSON"],
    ["[]", "BODY_NOT_OBJECT"],
    ["null", "BODY_NOT_OBJECT"],
  ])("refuses %j with 400 and %s, and charges nothing", async (body, code) => {
    await start(options())
    const { status, headers, json } = await plane.post("/v1/check", body)
    expect({ status, code: json.code }).toEqual({ status: 400, code })
    expect(headers.get("content-type")).toBe("application/problem+json")
    expect((await plane.post("/v1/peek", item)).json.remaining).toBe(2)
    expect(plane.errors).toEqual([])
  })
})

describe("POST /v1/check", () => {
  it("decides at the time in the body", async () => {
    await start()
    const at = plane.core.clock.now() + 60_000
    expect((await plane.post("/v1/check", { ...item, at, cost: 2 })).json.resetAt).toBe(at + 10_000)
    expect((await plane.post("/v1/check", { ...item, at: at + 9_999 })).json.allowed).toBe(false)
    expect((await plane.post("/v1/check", { ...item, at: at + 10_000 })).json.allowed).toBe(true)
  })

  it("answers never for a cost that can never fit, and null where no limit applies", async () => {
    await start()
    const never = await plane.post("/v1/check", { ...item, cost: 3 })
    expect(never.json.retryAfterMs).toBe("never")
    expect(never.headers.get("retry-after")).toBeNull()
    const free = await plane.post("/v1/check", { path: "/elsewhere" })
    expect(free.json).toMatchObject({ allowed: true, limit: null, remaining: null, reason: "no-rule" })
    expect(free.headers.get("x-ratelimit-limit")).toBeNull()
  })

  it("lists every limit, and what rules in shadow mode would have denied", async () => {
    await start()
    const two = await plane.post("/v1/check", { path: "/two", ip: "192.0.2.1" })
    expect(two.json.rules).toMatchObject([
      {
        rule: "two-limits",
        key: "ip:192.0.2.1",
        limits: [{ name: "burst", windowMs: 10_000 }, { name: "hourly" }],
      },
    ])
    await plane.post("/v1/check", { path: "/tried", ip: "192.0.2.1" })
    const tried = await plane.post("/v1/check", { path: "/tried", ip: "192.0.2.1" })
    expect(tried.json).toMatchObject({
      allowed: true,
      shadowDenied: ["tried"],
      rules: [{ rule: "tried", mode: "shadow", allowed: false }],
    })
  })

  it("reads header names in any case, and a header whose value is a list", async () => {
    await start()
    const ask = async (headers: object) =>
      (await plane.post("/v1/check", { path: "/tenants", headers })).json.key
    expect(await ask({ "X-Tenant": "acme" })).toBe("header:x-tenant:acme")
    expect(await ask({ "x-tenant": ["a"] })).toBe("header:x-tenant:a")
  })

  it("escapes any key in JSON", async () => {
    await start()
    for (const user of ['"', "\\", "\n", "\u2028", "\ud800", "ü€😀", "\u007f"]) {
      const { json } = await plane.post("/v1/check", { ...item, user })
      expect(json.key).toBe(`user:${user === "\ud800" ? "\ud800" : user}`)
    }
  })

  it("sends no rate limit headers for a rule with headers: none", async () => {
    await start()
    const names = [...(await plane.post("/v1/check", { path: "/quiet", ip: "192.0.2.1" })).headers.keys()]
    expect(names.filter((name) => name.includes("ratelimit"))).toEqual([])
  })

  it("refuses a body that is not UTF-8, because different keys could become equal", async () => {
    await start()
    const body = Buffer.concat([
      Buffer.from('{"user":"'),
      Buffer.from([0xff]),
      Buffer.from('","path":"/items/1"}'),
    ])
    const response = await fetch(`${plane.url}/v1/check`, { method: "POST", body })
    expect(await response.json()).toMatchObject({ status: 400, code: "BODY_INVALID_JSON" })
  })

  it.each([
    "status=200",
    "status=abc",
    "status=600",
    "status=",
    "stauts=429",
    "status=429&x=1",
    "answer=tiny",
  ])("refuses the query %s", async (query) => {
    await start()
    const { status, json } = await plane.post(`/v1/check?${query}`, item)
    expect({ status, code: json.code }).toEqual({ status: 400, code: "QUERY_INVALID" })
  })
})

describe("POST /v1/check with values that are too large", () => {
  it.each([
    ["257 descriptors", { descriptors: Array(257).fill({ entries: [] }) }],
    ["a path of 16,385 characters", { path: `/${"a".repeat(16_384)}` }],
    [
      "1,001 headers",
      { headers: Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`x${i}`, ""])) },
    ],
  ])("refuses %s", async (_what, body) => {
    await start()
    const { status, json } = await plane.post("/v1/check", body)
    expect({ status, code: json.code }).toEqual({ status: 400, code: "BODY_FIELD_INVALID" })
  })
})

describe("POST /v1/peek", () => {
  it("decides and charges nothing", async () => {
    await start()
    for (let i = 0; i < 5; i++) expect((await plane.post("/v1/peek", item)).json.remaining).toBe(2)
    expect((await plane.post("/v1/peek", { rule: "per-user", key: "user:42" })).json.remaining).toBe(2)
  })

  it("takes no cost", async () => {
    await start()
    expect((await plane.post("/v1/peek", { ...item, cost: 5 })).json.code).toBe("BODY_UNKNOWN_FIELD")
  })
})

describe("POST /v1/refund", () => {
  const key = { rule: "per-user", key: "user:42" }

  it("refunds the charge and answers the state of the key", async () => {
    await start()
    await plane.post("/v1/check", { ...item, cost: 2 })
    expect((await plane.post("/v1/refund", key)).json).toMatchObject({ remaining: 1, key: "user:42" })
    expect((await plane.post("/v1/refund", { ...key, cost: 5 })).json.remaining).toBe(2)
  })

  it("refunds the counters of the given tier only", async () => {
    await start()
    const gold = { ...key, tier: "gold" }
    await plane.post("/v1/check", { ...gold, cost: 3 })
    await plane.post("/v1/check", { ...key, cost: 2 })
    expect((await plane.post("/v1/refund", { ...gold, cost: 2 })).json.remaining).toBe(4)
    expect((await plane.post("/v1/peek", key)).json.remaining).toBe(0)
  })

  it.each([
    [{ rule: "per-user" }, "BODY_FIELD_INVALID"],
    [{ ...key, path: "/" }, "BODY_UNKNOWN_FIELD"],
    [{ ...key, cost: -1 }, "COST_INVALID"],
    [{ ...key, rule: "nobody" }, "RULE_UNKNOWN"],
  ])("refuses %j with %s", async (body, code) => {
    await start()
    const { status, json } = await plane.post("/v1/refund", body)
    expect({ status, code: json.code }).toEqual({ status: 400, code })
  })
})

describe("POST /v1/reset", () => {
  it("resets a key and answers its state", async () => {
    await start()
    await plane.post("/v1/check", { ...item, cost: 2 })
    const { json } = await plane.post("/v1/reset", { rule: "per-user", key: "user:42" })
    expect(json).toMatchObject({ allowed: true, remaining: 2, resetAfterMs: 0 })
    expect((await plane.post("/v1/check", item)).json.remaining).toBe(1)
  })
})

describe("POST /v1/explain", () => {
  it("lists every rule with the reason why it applies or not, and the decision, and charges nothing", async () => {
    await start()
    const { json } = await plane.post("/v1/explain", item)
    expect(
      json.rules.map(({ rule, applies }: { rule: string; applies: boolean }) => [rule, applies]),
    ).toEqual([
      ["per-user", true],
      ["two-limits", false],
      ["tried", false],
      ["tenants", false],
      ["quiet", false],
    ])
    expect(json.verdict).toMatch(/^allowed: /)
    expect(json.decision).toMatchObject({ allowed: true, rule: "per-user", key: "user:42" })
    expect((await plane.post("/v1/peek", item)).json.remaining).toBe(2)
  })

  it("answers never and null instead of infinite numbers", async () => {
    await start()
    const { text } = await plane.post("/v1/explain", { path: "/nowhere" })
    expect(JSON.parse(text).decision).toMatchObject({ limit: null, retryAfterMs: 0 })
    const denied = await plane.post("/v1/explain", { ...item, cost: 3 })
    expect(denied.json.decision.retryAfterMs).toBe("never")
  })
})
