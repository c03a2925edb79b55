import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { testCore } from "../core.test-support.js"
import { startPlane, type TestPlane } from "./check-api.test-support.js"
import { checkApiDescription } from "./openapi.js"

const RULES = `
version: 1
rules:
  - id: at-once
    keyBy: user
    limits:
      - { name: calls, algorithm: concurrency, limit: 2, hold: 1m }
      - { name: rate, limit: 10, window: 1h }
  - id: all
    keyBy: global
    match: { path: /large }
    limits: [{ algorithm: concurrency, limit: 3, hold: 10s }]
  - id: free
    match: { path: /free }
    replaces: [at-once]
    keyBy: user
    limits: [{ limit: 5, window: 1h }]
`

let plane: TestPlane

beforeEach(async () => {
  plane = await startPlane(testCore(RULES))
})

afterEach(() => plane.close())

const acquire = (body: object, query = "") => plane.post(`/v1/acquire${query}`, { user: "ann", ...body })
const release = (hold: unknown) => plane.post("/v1/release", { hold })
const extend = (hold: unknown) => plane.post("/v1/extend", { hold })

describe("POST /v1/acquire", () => {
  it("answers the decision of a check with the id of the hold, until the limit is held", async () => {
    const { status, json, headers } = await acquire({})
    expect(status).toBe(200)
    expect(json).toMatchObject({ allowed: true, remaining: 1, holdMs: 60_000, hold: expect.any(String) })
    expect(headers.get("ratelimit-policy")).toContain("calls")
    expect((await acquire({})).json.allowed).toBe(true)
    const denied = await acquire({}, "?status=429")
    expect(denied.status).toBe(429)
    expect(denied.json).toMatchObject({ allowed: false, deniedBy: "at-once/calls", retryAfterMs: 60_000 })
    expect(denied.json.hold).toBeUndefined()
  })

  it("takes a rule and a key, a cost, and the small answer", async () => {
    const byKey = await plane.post("/v1/acquire?answer=small", { rule: "at-once", key: "user:ann", cost: 2 })
    expect(Object.keys(byKey.json)).toEqual([
      "allowed",
      "limit",
      "remaining",
      "retryAfterMs",
      "resetAfterMs",
      "hold",
      "holdMs",
    ])
    expect((await acquire({})).json.allowed).toBe(false)
    expect((await release(byKey.json.hold)).json).toEqual({ released: true })
    expect((await acquire({ cost: 2 })).json.allowed).toBe(true)
  })

  it("holds all rules of a request or none", async () => {
    const first = await acquire({ path: "/large", cost: 2 })
    expect(first.json).toMatchObject({ allowed: true, holdMs: 10_000 })
    expect((await acquire({ user: "bob", path: "/large", cost: 2 })).json.allowed).toBe(false)
    expect((await acquire({ user: "bob", cost: 2 })).json.allowed).toBe(true)
    await release(first.json.hold)
    expect((await acquire({ user: "eve", path: "/large", cost: 2 })).json.allowed).toBe(true)
  })

  it("has no id for a request that no limit of concurrency counts", async () => {
    const { json } = await acquire({ path: "/free" })
    expect(json.allowed).toBe(true)
    expect(json).not.toHaveProperty("hold")
  })

  it("takes no time of the caller", async () => {
    const { status, json } = await acquire({ at: 1 })
    expect(status).toBe(400)
    expect(json.code).toBe("BODY_UNKNOWN_FIELD")
  })
})

describe("POST /v1/release and /v1/extend", () => {
  it("release a hold once, and leave its rate charged", async () => {
    const { hold } = (await acquire({ cost: 2 })).json
    expect(await release(hold)).toMatchObject({ status: 200, json: { released: true } })
    expect(await release(hold)).toMatchObject({ status: 200, json: { released: false } })
    const { rules } = (await plane.post("/v1/peek", { user: "ann" })).json
    expect(rules[0].limits.map(({ remaining }: { remaining: number }) => remaining)).toEqual([2, 8])
  })

  it("extend a hold that lasts, and none that has ended", async () => {
    const core = plane.core
    const { hold } = (await acquire({ cost: 2 })).json
    core.clock.advance(59_999)
    expect((await extend(hold)).json).toEqual({ extended: true })
    core.clock.advance(59_999)
    expect((await acquire({})).json.allowed).toBe(false)
    core.clock.advance(1)
    expect((await extend(hold)).json).toEqual({ extended: false })
    expect((await release(hold)).json).toEqual({ released: false })
    expect((await acquire({ cost: 2 })).json.allowed).toBe(true)
  })

  it("work after the rules have changed, and answer false once the limit is gone", async () => {
    const { hold } = (await acquire({})).json
    const other = (await acquire({})).json.hold
    const { core } = plane
    await core.rules.save(
      {
        ...core.engine.rules,
        rules: core.engine.rules.rules.map((rule) =>
          rule.id === "at-once" ? { ...rule, keyBy: "ip" } : rule,
        ),
      },
      { by: "test" },
    )
    await core.engine.settled()
    expect((await release(hold)).json).toEqual({ released: true })
    await core.rules.save({ version: 1, rules: [] }, { by: "test" })
    await core.engine.settled()
    expect((await release(other)).json).toEqual({ released: false })
  })

  it.each(["/v1/release", "/v1/extend"])("%s refuses what is no id, and keeps serving", async (path) => {
    const bodies = [
      {},
      { hold: 1 },
      { hold: null },
      { hold: "x", key: "y" },
      { hold: "hold_AAAA" },
      { hold: "" },
    ]
    const codes: string[] = []
    for (const body of bodies) {
      const { status, json } = await plane.post(path, body)
      expect(status).toBe(400)
      codes.push(json.code)
    }
    expect([...new Set(codes)]).toEqual(["BODY_FIELD_INVALID", "BODY_UNKNOWN_FIELD", "HOLD_INVALID"])
    expect((await plane.post(`${path}?x=1`, { hold: "x" })).json.code).toBe("QUERY_INVALID")
    expect(plane.errors).toEqual([])
  })
})

it("the description has the fields of the answers", async () => {
  const fieldsOf = (schema: object) => Object.keys((schema as { properties: object }).properties)
  const { AcquiredDecision, SmallAcquiredDecision } = checkApiDescription.components.schemas
  const whole = (await acquire({})).json
  expect(fieldsOf(AcquiredDecision)).toEqual(expect.arrayContaining(Object.keys(whole)))
  const small = (await acquire({}, "?answer=small")).json
  expect(fieldsOf(SmallAcquiredDecision)).toEqual(Object.keys(small))
})

describe("who may acquire, extend and release", () => {
  it("is who may check: a token is needed if checks need one, and not where only refunds do", async () => {
    const tokens = [{ name: "app", token: "t".repeat(32) }]
    const open = await startPlane(testCore(RULES), { access: { tokens } })
    const { hold } = (await open.post("/v1/acquire", { user: "ann" })).json
    expect((await open.post("/v1/release", { hold })).json).toEqual({ released: true })
    await open.close()
    const closed = await startPlane(testCore(RULES), { access: { tokens, requireToken: true } })
    for (const path of ["/v1/acquire", "/v1/release", "/v1/extend"])
      expect((await closed.post(path, { hold })).status).toBe(401)
    await closed.close()
  })
})
