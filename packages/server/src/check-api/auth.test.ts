import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { afterEach, describe, expect, it } from "vitest"
import { testCore } from "../core.test-support.js"
import { startPlane, type TestPlane } from "./check-api.test-support.js"

const rules = (trusted: string) => `
version: 1
identity: { trustedProxies: [${trusted}], user: { header: x-user-id } }
rules:
  - id: writes
    match: { method: POST, path: /items/**, host: api.example.com }
    keyBy: ip
    limits: [{ algorithm: sliding-window-log, limit: 1, window: 10s }]
  - id: users
    match: { path: /me }
    keyBy: user
    limits: [{ algorithm: sliding-window-log, limit: 1, window: 10s }]
    response: { status: 503, body: "come back later" }
`

let plane: TestPlane

afterEach(() => plane.close())

const forwarded = {
  "x-forwarded-method": "POST",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "api.example.com",
  "x-forwarded-uri": "/items/7?x=1",
  "x-forwarded-for": "203.0.113.7",
}

describe("ANY /v1/auth", () => {
  it("answers 200 without a body, with the rate limit headers, for an allowed request", async () => {
    plane = await startPlane(testCore(rules("loopback")))
    const { status, text, headers } = await plane.get("/v1/auth", forwarded)
    expect([status, text]).toEqual([200, ""])
    expect(headers.get("x-ratelimit-limit")).toBe("1")
    expect(headers.get("x-ratelimit-remaining")).toBe("0")
    expect(plane.core.decided[0]).toMatchObject({ protocol: "auth", decision: { rule: "writes" } })
    expect(plane.core.decided[0]?.decision.rules[0]?.key).toBe("ip:203.0.113.7")
  })

  it("answers a denied request with 429 and a problem, or with the status that the proxy asks for", async () => {
    plane = await startPlane(testCore(rules("loopback")))
    await plane.get("/v1/auth", forwarded)
    const denied = await plane.get("/v1/auth", forwarded)
    expect(denied.status).toBe(429)
    expect(denied.headers.get("retry-after")).toBe("10")
    expect(denied.json).toMatchObject({ status: 429, rule: "writes", retryAfterMs: 10_000 })
    for (const method of ["GET", "HEAD", "POST", "DELETE", "PURGE"]) {
      const { status, headers } = await plane.get("/v1/auth?deny=403", forwarded, method)
      expect([method, status, headers.get("retry-after")]).toEqual([method, 403, "10"])
    }
  })

  it("uses the response of the rule, but with the status that the proxy understands", async () => {
    plane = await startPlane(testCore(rules("loopback")))
    const me = { ...forwarded, "x-forwarded-uri": "/me", "x-user-id": "42" }
    await plane.get("/v1/auth", me)
    const denied = await plane.get("/v1/auth", me)
    expect([denied.status, denied.text]).toEqual([503, "come back later"])
    expect((await plane.get("/v1/auth?deny=401", me)).status).toBe(401)
  })

  it("reads X-Original-URI and X-Original-Method, as nginx sends them", async () => {
    plane = await startPlane(testCore(rules("loopback")))
    const original = {
      "x-original-uri": "/items/7",
      "x-original-method": "POST",
      "x-forwarded-host": "api.example.com",
    }
    await plane.get("/v1/auth", original)
    expect(plane.core.decided[0]?.decision.rule).toBe("writes")
  })

  it.each([[{ "x-original-uri": "/free" }], [{ "x-original-method": "GET" }]])(
    "refuses %j of a client beside the header of the proxy, in either order",
    async (own) => {
      plane = await startPlane(testCore(rules("loopback")))
      const { status, json } = await plane.get("/v1/auth", { ...forwarded, ...own })
      expect([status, json.code]).toEqual([400, "FORWARDED_INVALID"])
      expect(plane.core.decided).toEqual([])
    },
  )

  it("refuses a subrequest that names no path", async () => {
    plane = await startPlane(testCore(rules("loopback")))
    const { status, json } = await plane.get("/v1/auth", { "x-forwarded-for": "203.0.113.7" })
    expect([status, json.code]).toEqual([400, "FORWARDED_INVALID"])
  })

  it.each(["", "10.0.0.0/8"])("believes forwarded headers of trusted proxies only: [%s]", async (trusted) => {
    plane = await startPlane(testCore(rules(trusted)))
    const { status, json } = await plane.get("/v1/auth", forwarded)
    expect([status, json.code]).toEqual([403, "PROXY_UNTRUSTED"])
    expect(json.detail).toContain("127.0.0.1")
    expect(plane.core.decided).toEqual([])
  })

  it("follows a rule set that changes the trusted proxies", async () => {
    plane = await startPlane(testCore(rules("10.0.0.0/8")))
    const { core } = plane
    const { document, revision } = core.rules.current
    const identity = { ...document.identity, trustedProxies: ["loopback"] }
    await core.rules.save({ ...document, identity }, { expected: revision, by: "test" })
    expect((await plane.get("/v1/auth", forwarded)).status).toBe(200)
  })

  it("takes the address and the request, but not the user, from the proxies in its options", async () => {
    plane = await startPlane(testCore(rules("10.0.0.0/8")), { trustedProxies: ["loopback"] })
    await plane.get("/v1/auth", { ...forwarded, "x-forwarded-for": "10.1.2.3, 203.0.113.7" })
    expect(plane.core.decided[0]?.decision.rules[0]?.key).toBe("ip:203.0.113.7")
    await plane.get("/v1/auth", { ...forwarded, "x-forwarded-uri": "/me", "x-user-id": "42" })
    expect(plane.core.decided[1]?.decision.rules[0]?.key).toBe("ip:203.0.113.7")
  })

  it("denies a path that the application may read differently, with a status that nginx takes as a denial", async () => {
    plane = await startPlane(testCore(rules("loopback")))
    for (const path of ["/free/../items/7", "/items%2f7", "/items/%252e%252e/x"]) {
      const asked = { ...forwarded, "x-forwarded-uri": path }
      expect([path, (await plane.get("/v1/auth", asked)).status]).toEqual([path, 400])
      expect([path, (await plane.get("/v1/auth?deny=403", asked)).status]).toEqual([path, 403])
    }
  })

  it("denies a credential that was sent twice, with a status that nginx takes as a denial", async () => {
    plane = await startPlane(
      testCore(`
version: 1
identity: { trustedProxies: [loopback], apiKey: { header: x-api-key, query: api_key } }
rules:
  - { id: keys, keyBy: apiKey, limits: [{ algorithm: sliding-window-log, limit: 3, window: 10s }] }
  - { id: sessions, keyBy: "cookie:sid", onMissingKey: skip, limits: [{ limit: 3, window: 10s }] }
`),
    )
    for (const [name, value] of [
      ["x-forwarded-uri", "/items/7?API_KEY=junk&api_key=REAL"],
      ["cookie", "sid=junk; sid=REAL"],
    ] as const) {
      const twice = await plane.get("/v1/auth", { ...forwarded, [name]: value })
      expect([name, twice.status, twice.json.code]).toEqual([name, 400, "KEY_AMBIGUOUS"])
    }
    // Not by `fetch`, which would make one line of two.
    const call = request(`${plane.url}/v1/auth`, { headers: { ...forwarded, "x-api-key": ["REAL", "junk"] } })
    const [answer] = (await once(call.end(), "response")) as [IncomingMessage]
    expect(answer.resume().statusCode).toBe(400)
    const cookie = { ...forwarded, cookie: "sid=junk; sid=REAL" }
    expect((await plane.get("/v1/auth?deny=403", cookie)).status).toBe(403)
    expect(plane.core.decided.every(({ decision }) => decision.reason === "ambiguous-key")).toBe(true)
  })

  it("refuses a subrequest in which the client also sent a header that the proxy writes", async () => {
    plane = await startPlane(testCore(rules("loopback")))
    const asked = { ...forwarded, "x-forwarded-method": "GET, POST" }
    const { status, json } = await plane.get("/v1/auth", asked)
    expect([status, json.code]).toEqual([400, "FORWARDED_INVALID"])
  })

  it("does not change the query of the client", async () => {
    plane = await startPlane(testCore(rules("loopback")))
    await plane.get("/v1/auth", forwarded)
    const asked = { ...forwarded, "x-forwarded-uri": "/items/7?deny=500&x=1" }
    expect((await plane.get("/v1/auth?deny=500&x=1", asked)).status).toBe(429)
    expect((await plane.get("/v1/auth?deny=oops", forwarded)).json.code).toBe("QUERY_INVALID")
  })

  it("takes the last forwarded address that is not a trusted proxy", async () => {
    plane = await startPlane(testCore(rules("loopback, 10.0.0.0/8")))
    await plane.get("/v1/auth", { ...forwarded, "x-forwarded-for": "1.2.3.4, 203.0.113.7, 10.0.0.1" })
    expect(plane.core.decided[0]?.decision.rules[0]?.key).toBe("ip:203.0.113.7")
  })
})
