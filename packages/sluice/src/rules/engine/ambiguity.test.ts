// A credential that is sent twice, or that can be read in two ways: no rule that counts by it lets the request pass.

import { afterEach, describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { hashApiKey } from "../identity/api-key.js"
import type { RuleRequest } from "../identity/rule-request.js"
import type { RuleSetDocument, RuleSpec } from "../language/schema.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"

const SECRET = "of the tests"
const engines: RuleEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

function start(set: Partial<RuleSetDocument> & { rules: RuleSpec[] }): RuleEngine {
  const engine = createRuleEngine({ rules: { version: 1, ...set }, clock: new ManualClock(), secret: SECRET })
  engines.push(engine)
  return engine
}

function rule(keyBy: RuleSpec["keyBy"], more: Partial<RuleSpec> = {}): RuleSpec {
  const limits = [{ limit: 3, window: "1m", algorithm: "fixed-window" as const }]
  return { id: "api", limits, ...(keyBy === undefined ? {} : { keyBy }), ...more }
}

/** A request with these header lines, as `node:http` hands them over. */
function lines(...rawHeaders: string[]): RuleRequest {
  const headers: Record<string, string> = {}
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase()
    const value = rawHeaders[i + 1] as string
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (name === "cookie") headers[name] = `${before}; ${value}`
    else if (name !== "authorization") headers[name] = `${before}, ${value}`
  }
  return { headers, rawHeaders, method: "GET", path: "/", ip: "203.0.113.7" }
}

const at = (path: string): RuleRequest => ({ method: "GET", path, ip: "203.0.113.7" })
const inQuery = { identity: { apiKey: { header: "x-api-key", query: "api_key" } } }
const inAuthorization = { identity: { apiKey: { header: "authorization" } } }

describe("a credential that was sent more than once", () => {
  it.each<[string, Partial<RuleSetDocument>, RuleSpec["keyBy"], RuleRequest, string]>([
    [
      "an API key in two header lines",
      {},
      "apiKey",
      lines("X-Api-Key", "REAL", "X-Api-Key", "junk"),
      "header x-api-key must be given once",
    ],
    [
      "an API key in a header that some programs take for the same",
      {},
      "apiKey",
      lines("X-Api-Key", "junk", "X_Api_Key", "REAL"),
      "header x-api-key must be given once",
    ],
    [
      "an API key in a header under that other name alone",
      {},
      "apiKey",
      lines("X_Api_Key", "REAL"),
      "header x-api-key must be given once",
    ],
    [
      "an API key in Authorization, of which node:http shows the first",
      inAuthorization,
      "apiKey",
      lines("Authorization", "Bearer junk", "authorization", "Bearer REAL"),
      "header authorization must be given once",
    ],
    [
      "an API key in the query, in two cases",
      inQuery,
      "apiKey",
      at("/?API_KEY=junk&api_key=REAL"),
      "query parameter api_key must be given once and in one spelling",
    ],
    [
      "an API key in the query, encoded",
      inQuery,
      "apiKey",
      at("/?api%5Fkey=junk&api_key=REAL"),
      "query parameter api_key must be given once and in one spelling",
    ],
    [
      "an API key in the query and in a header",
      inQuery,
      "apiKey",
      { ...lines("x-api-key", "junk"), path: "/?api_key=REAL" },
      "the API key must be in header x-api-key or in the query, not in both",
    ],
    [
      "a list in the query",
      {},
      "query:k",
      at("/?k[]=REAL"),
      "query parameter k must be given once and in one spelling",
    ],
    [
      "a parameter behind a semicolon",
      {},
      "query:k",
      at("/?a=1;k=REAL"),
      "query parameter k must be given once and in one spelling",
    ],
    [
      "a header in a list of texts",
      {},
      "header:x-tenant",
      { headers: { "x-tenant": ["one", "two"] } },
      "header x-tenant must be given once",
    ],
    [
      "a header that a fetch Headers has joined",
      {},
      "header:x-tenant",
      { headers: new Headers([...Array(2).entries()].map(([i]) => ["x-tenant", String(i)])) },
      "header x-tenant must be given once",
    ],
    [
      "a user that a fetch Headers has joined",
      {
        identity: { trustedProxies: ["203.0.113.7"], user: { header: "x-forwarded-user" } },
      },
      "user",
      { ip: "203.0.113.7", headers: new Headers({ "x-forwarded-user": "junk, real" }) },
      "header x-forwarded-user must be given once",
    ],
    [
      "a cookie",
      {},
      "cookie:sid",
      lines("cookie", "sid=junk; sid=REAL"),
      "cookie sid must be given once and in one spelling",
    ],
    [
      "a cookie in two header lines",
      {},
      "cookie:sid",
      lines("cookie", "sid=junk", "cookie", "sid=REAL"),
      "cookie sid must be given once and in one spelling",
    ],
    [
      "a cookie in lines that were joined by a comma",
      {},
      "cookie:sid",
      { headers: { cookie: "a=1, sid=junk, sid=REAL" } },
      "cookie sid must be given once and in one spelling",
    ],
    [
      "a host in two lines",
      {},
      "host",
      lines("Host", "a.example", "host", "b.example"),
      "header host must be given once",
    ],
    [
      "a host beside another :authority",
      {},
      "host",
      lines(":authority", "a.example", "host", "b.example"),
      "header host must be given once",
    ],
  ])("%s is refused", async (_, set, keyBy, request, ambiguous) => {
    const engine = start({ ...set, rules: [rule(keyBy)] })
    expect(await engine.check(request)).toMatchObject({
      allowed: false,
      reason: "ambiguous-key",
      rule: "api",
      retryAfterMs: Number.POSITIVE_INFINITY,
      ambiguous,
    })
  })

  it.each<[string, RuleRequest]>([
    ["a cookie of another name", lines("cookie", "a=1; sid=REAL", "cookie", "a=2")],
    ["a header that no rule counts by", lines("cookie", "sid=REAL", "x-tenant", "1", "x-tenant", "2")],
    ["a parameter that no rule counts by", { ...lines("cookie", "sid=REAL"), path: "/?a=1&a=2" }],
  ])("does not matter for %s", async (_, request) => {
    const engine = start({ rules: [rule("cookie:sid")] })
    expect(await engine.check(request)).toMatchObject({ allowed: true, rules: [{ key: "cookie:sid:REAL" }] })
  })

  it("is not assumed for one line with a comma if the lines are known", async () => {
    const engine = start({ rules: [rule("header:x-tenant")] })
    expect((await engine.check(lines("x-tenant", "one, two"))).rules[0]?.key).toBe("header:x-tenant:one, two")
  })

  it("is not assumed for several lines of a Cookie header, which are one list", async () => {
    const engine = start({ rules: [rule("header:cookie")] })
    expect((await engine.check(lines("cookie", "a=1", "cookie", "b=2"))).allowed).toBe(true)
  })

  it("is not assumed for a header whose value may have commas if the lines are unknown", async () => {
    const engine = start({ rules: [rule("header:user-agent")] })
    const headers = new Headers({ "user-agent": "Mozilla/5.0 (KHTML, like Gecko)" })
    expect((await engine.check({ headers })).allowed).toBe(true)
  })

  it("is ignored if the application names the client", async () => {
    const engine = start({ rules: [rule("apiKey")] })
    const request = { ...lines("X-Api-Key", "REAL", "X-Api-Key", "junk"), apiKey: "REAL" }
    expect((await engine.check(request)).allowed).toBe(true)
  })

  it("is only reported as denied by a rule in shadow mode", async () => {
    const engine = start({ rules: [rule("apiKey", { mode: "shadow" }), rule("ip", { id: "other" })] })
    expect(await engine.check(lines("X-Api-Key", "REAL", "X-Api-Key", "junk"))).toMatchObject({
      allowed: true,
      rule: "other",
      shadowDenied: ["api"],
    })
  })

  it("is ignored for a client on an allow list of the rule or the set", async () => {
    const twice = lines("X-Api-Key", "REAL", "X-Api-Key", "junk")
    const own = start({ rules: [rule("apiKey", { allow: ["ip:203.0.113.7"] })] })
    expect((await own.check(twice)).allowed).toBe(true)
    const whole = start({ allow: ["ip:203.0.113.7"], rules: [rule("apiKey")] })
    expect((await whole.check(twice)).reason).toBe("allow-list")
  })
})

describe("lists, tiers, overrides and costs", () => {
  const name = `apiKey:${hashApiKey(SECRET, "REAL")}`
  const twice = lines("X-Api-Key", "REAL", "X-Api-Key", "junk")

  it.each<[string, Partial<RuleSetDocument>, Partial<RuleSpec>]>([
    ["the deny list", { deny: [name] }, {}],
    ["the deny list of a rule", {}, { deny: [name] }],
    ["a deny list, for somebody who is on the allow list", { deny: [name], allow: ["ip:203.0.113.7"] }, {}],
    ["the allow list", { allow: [name] }, {}],
    ["a tier", { tiers: { slow: [name] } }, {}],
    ["an override", { overrides: [{ client: name, limits: [{ limit: 1, window: "1m" }] }] }, {}],
    [
      "an override of a rule without limits",
      { overrides: [{ client: name, limits: [{ limit: 1, window: "1m" }] }] },
      { limits: "unlimited" },
    ],
  ])("that name an API key are not evaded by sending it twice: %s", async (_, set, more) => {
    const engine = start({ ...set, rules: [rule("ip", more)] })
    expect(await engine.check(twice)).toMatchObject({ allowed: false, reason: "ambiguous-key" })
  })

  const behindProxy = { trustedProxies: ["203.0.113.7"] }
  it.each<[string, NonNullable<RuleSetDocument["identity"]>, RuleSpec]>([
    ["a user", { ...behindProxy, user: { header: "x-said" } }, rule("user")],
    ["a tier", { ...behindProxy, tier: { header: "x-said" } }, rule("ip")],
    ["a cost", behindProxy, rule("ip", { cost: { header: "x-said" } })],
  ])("are not taken from two headers of a proxy: %s", async (_, identity, own) => {
    const engine = start({ identity, rules: [own] })
    expect(await engine.check(lines("X-Said", "1", "X-Said", "2"))).toMatchObject({
      reason: "ambiguous-key",
      ambiguous: "header x-said must be given once",
    })
    // From anybody else the header means nothing.
    const elsewhere = { ...lines("X-Said", "1", "X-Said", "2"), ip: "198.51.100.1" }
    expect((await engine.check(elsewhere)).allowed).toBe(true)
  })
})

describe("match", () => {
  it.each<[string, RuleRequest]>([
    ["two lines", lines("X-Plan", "free", "X-Plan", "pro")],
    ["two lines, the other way round", lines("X-Plan", "pro", "X-Plan", "free")],
    [
      "a fetch Headers",
      { ...lines(), rawHeaders: undefined, headers: new Headers({ "x-plan": "pro, free" }) },
    ],
    ["a list of texts", { ...lines(), rawHeaders: undefined, headers: { "x-plan": ["pro", "free"] } }],
  ])("applies to any value of a header, in %s", async (_, request) => {
    const engine = start({ rules: [rule("ip", { match: { header: { "x-plan": "free" } } })] })
    expect((await engine.check(request)).rule).toBe("api")
  })

  it.each(["/?plan=free&plan=pro", "/?a=1;plan=free", "/?plan[]=free", "/?PLAN=fre%65"])(
    "applies to any value of a parameter, in %s",
    async (path) => {
      const engine = start({ rules: [rule("ip", { match: { query: { plan: "free" } } })] })
      expect((await engine.check(at(path))).rule).toBe("api")
    },
  )

  it("applies to any of several Authorization headers, although node:http shows only the first", async () => {
    const engine = start({ rules: [rule("ip", { match: { header: { authorization: "Basic *" } } })] })
    expect((await engine.check(lines("authorization", "Bearer x", "authorization", "Basic y"))).rule).toBe(
      "api",
    )
  })
})

describe("explain", () => {
  it("names the rule that cannot identify the client, and what must change", async () => {
    const engine = start({ rules: [rule("apiKey"), rule("ip", { id: "other" })] })
    const { rules, verdict } = await engine.explain(lines("X-Api-Key", "REAL", "X-Api-Key", "junk"))
    expect(rules.map(({ rule: id, because }) => [id, because])).toEqual([
      ["api", "it cannot tell whom the request counts for: header x-api-key must be given once"],
      ["other", "it matches every request"],
    ])
    expect(verdict).toBe(
      'denied: rule "api" cannot tell whom it counts for; header x-api-key must be given once',
    )
  })

  it("shows none of the keys in a query", async () => {
    const engine = start({ ...inQuery, rules: [rule("apiKey")] })
    const { request } = await engine.explain(at("/?a=1&api_key=REAL&API%5FKEY=junk&api_key[]=REAL"))
    expect(request.query).toBe("a=1&api_key=***&API%5FKEY=***&api_key[]=***")
  })
})
