import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { testCore } from "../../core.test-support.js"
import { startControl, type TestControl } from "../control-plane.test-support.js"

let control: TestControl
const login = "/keys/login/ip%3A192.0.2.1"

beforeEach(async () => {
  control = await startControl()
})

afterEach(async () => {
  expect(control.errors).toEqual([])
  await control.close()
})

const request = () => control.core.engine.check({ path: "/login", ip: "192.0.2.1" })

describe("GET /keys/:rule/:key", () => {
  it("answers what a key has used, and charges nothing", async () => {
    await request()
    for (let i = 0; i < 3; i++) {
      const { status, json } = await control.ask("GET", login)
      expect(status).toBe(200)
      expect(json).toEqual({
        rule: "login",
        key: "ip:192.0.2.1",
        mode: "enforce",
        allowed: true,
        limits: [
          {
            name: expect.any(String),
            limit: 2,
            remaining: 1,
            retryAfterMs: 0,
            resetAfterMs: expect.any(Number),
            resetAt: expect.any(Number),
            windowMs: 60_000,
            used: 1,
            buckets: [{ startsAt: expect.any(Number), lengthMs: 60_000, units: 1 }],
          },
        ],
        revision: 1,
      })
    }
  })

  it("answers the times of a log, and the counts of a counter by bucket", async () => {
    const both = await startControl(
      {},
      testCore(`
version: 1
rules:
  - id: both
    keyBy: ip
    limits:
      - { name: log, algorithm: sliding-window-log, limit: 5, window: 1m }
      - { name: counter, algorithm: sliding-window-counter, limit: 9, window: 1h }
`),
    )
    const { engine, clock } = both.core
    const start = clock.now()
    await engine.check({ ip: "192.0.2.1" })
    clock.advance(1_500)
    await engine.check({ ip: "192.0.2.1" }, { cost: 2 })
    const { json } = await both.ask("GET", "/keys/both/ip%3A192.0.2.1")
    expect(json.limits).toMatchObject([
      { name: "log", limit: 5, used: 3, oldestAt: start, newestAt: start + 1_500 },
      { name: "counter", limit: 9, used: 3, buckets: [{ lengthMs: 3_600_000, units: 3 }] },
    ])
    expect(json.limits[0]).not.toHaveProperty("buckets")
    await both.close()
  })

  it("reports that the next request would be denied", async () => {
    await request()
    await request()
    const { json } = await control.ask("GET", login)
    expect([json.allowed, json.limits[0].remaining]).toEqual([false, 0])
  })

  it("is not counted as a decision", async () => {
    await control.ask("GET", login)
    expect(control.core.decided).toEqual([])
  })

  it("accepts any characters in a key", async () => {
    const key = 'user:ä/b?c#d%2F"<script>'
    const { json } = await control.ask("GET", `/keys/api/${encodeURIComponent(key)}`)
    expect(json.key).toBe(key)
  })

  it("answers 404 for an unknown rule, and for a key that is not valid text", async () => {
    const unknown = await control.ask("GET", "/keys/nope/a")
    expect([unknown.status, unknown.json.code]).toEqual([404, "RULE_UNKNOWN"])
    const torn = await control.ask("GET", "/keys/login/%E0%A4%A")
    expect([torn.status, torn.json.code]).toEqual([404, "PATH_UNKNOWN"])
  })

  it("answers the limits of a tier, and none where the tier is unlimited", async () => {
    const tiers = await startControl(
      {},
      testCore(`
version: 1
rules:
  - id: api
    limits: [{ limit: 1, window: 1m }]
    tiers: { pro: { limits: [{ limit: 50, window: 1m }] }, free: unlimited }
  - id: off
    mode: off
    limits: [{ limit: 1, window: 1m }]
`),
    )
    expect((await tiers.ask("GET", "/keys/api/a?tier=pro")).json).toMatchObject({
      tier: "pro",
      limits: [{ limit: 50 }],
    })
    expect((await tiers.ask("GET", "/keys/api/a?tier=free")).json).toMatchObject({
      allowed: true,
      limits: [],
    })
    expect((await tiers.ask("GET", "/keys/off/a")).json).toMatchObject({
      mode: "off",
      allowed: true,
      limits: [],
    })
    await tiers.close()
  })
})

describe("POST …/reset", () => {
  it("resets what a key has used", async () => {
    await request()
    await request()
    expect((await request()).allowed).toBe(false)
    const { status, json } = await control.ask("POST", `${login}/reset`)
    expect([status, json.limits[0].remaining]).toEqual([200, 2])
    expect((await request()).allowed).toBe(true)
  })
})

describe("a block", () => {
  it("denies a key until it ends, and a reset does not end it", async () => {
    const { status, json } = await control.ask("POST", `${login}/block`, { body: { duration: "10m" } })
    expect([status, json.allowed, json.blockedForMs]).toEqual([200, false, 600_000])
    await control.ask("POST", `${login}/reset`)
    expect(await request()).toMatchObject({ allowed: false, reason: "block" })
    control.core.clock.advance(599_999)
    expect((await control.ask("GET", login)).json.blockedForMs).toBe(1)
    control.core.clock.advance(1)
    expect((await control.ask("GET", login)).json).not.toHaveProperty("blockedForMs")
    expect((await request()).allowed).toBe(true)
  })

  it("by a penalty lasts as long as the penalty, even if the limit is used up for longer", async () => {
    const penalty = { after: 2, within: "1m", block: "1h" }
    const limits = [{ algorithm: "fixed-window", limit: 1, window: "1d", penalty }]
    const daily = await startControl(
      {},
      testCore(`{"version":1,"rules":[{"id":"a","limits":${JSON.stringify(limits)}}]}`),
    )
    try {
      for (let i = 0; i < 3; i++) await daily.core.engine.check({ ip: "192.0.2.1" })
      const { json } = await daily.ask("GET", "/keys/a/ip%3A192.0.2.1")
      expect([json.blockedForMs, json.limits[0].retryAfterMs > 3_600_000]).toEqual([3_600_000, true])
    } finally {
      await daily.close()
    }
  })

  it("can be ended", async () => {
    await control.ask("POST", `${login}/block`, { body: { duration: 60_000 } })
    const { json } = await control.ask("DELETE", `${login}/block`)
    expect(json.allowed).toBe(true)
    expect((await request()).allowed).toBe(true)
  })

  it.each([
    {},
    { duration: "soon" },
    { duration: -1 },
    { duration: "10m", extra: 1 },
    [],
    "10m",
    { duration: 0 },
  ])("is refused with %j", async (body) => {
    const { status } = await control.ask("POST", `${login}/block`, { body })
    expect(status).toBe(400)
    expect((await request()).allowed).toBe(true)
  })
})

describe("the list of blocked keys", () => {
  const RULES = `
version: 1
rules:
  - id: login
    limits: [{ name: tries, limit: 1, window: 1h, algorithm: fixed-window, anchor: first-request, penalty: { after: 2, within: 1m, block: 10m, factor: 2 } }]
`

  it("tells who is blocked, since when, why and until when, and forgets whom unblock sets free", async () => {
    const plane = await startControl({}, testCore(RULES))
    const { engine, clock } = plane.core
    const since = clock.now()
    for (let i = 0; i < 3; i++) await engine.check({ ip: "192.0.2.1" })
    clock.advance(1_000)
    await plane.ask("POST", "/keys/login/ip%3A192.0.2.2/block", { body: { duration: "1h" } })
    expect((await plane.ask("GET", "/blocks")).json).toEqual({
      blocks: [
        {
          rule: "login",
          key: "ip:192.0.2.2",
          blockedSince: since + 1_000,
          blockedUntil: since + 3_601_000,
          blockedForMs: 3_600_000,
        },
        {
          rule: "login",
          key: "ip:192.0.2.1",
          blockedSince: since,
          blockedUntil: since + 600_000,
          blockedForMs: 599_000,
          limit: "tries",
          denials: 2,
          earlier: 0,
        },
      ],
      complete: true,
    })
    expect((await plane.ask("GET", "/blocks?limit=1")).json).toMatchObject({
      blocks: [{ key: "ip:192.0.2.2" }],
      complete: false,
    })
    for (const address of ["192.0.2.1", "192.0.2.2"])
      await plane.ask("DELETE", `/keys/login/ip%3A${address}/block`)
    expect((await plane.ask("GET", "/blocks")).json).toEqual({ blocks: [], complete: true })
    await plane.close()
  })

  it("shows the time of the block, not that of a full limit which lasts longer", async () => {
    const plane = await startControl({}, testCore(RULES))
    await plane.core.engine.check({ ip: "192.0.2.3" })
    const since = plane.core.clock.now()
    const blocked = await plane.ask("POST", "/keys/login/ip%3A192.0.2.3/block", { body: { duration: "5m" } })
    expect(blocked.json).toMatchObject({
      blockedForMs: 300_000,
      block: { blockedSince: since, blockedUntil: since + 300_000 },
      limits: [{ retryAfterMs: 3_600_000 }],
    })
    await plane.close()
  })

  it("answers 503 while the store does not answer", async () => {
    const core = testCore(RULES)
    const away = async () => undefined
    const plane = await startControl(
      {},
      { ...core, engine: Object.assign(Object.create(core.engine), { blockedKeys: away }) },
    )
    const answer = await plane.ask("GET", "/blocks")
    expect([answer.status, answer.json.code]).toEqual([503, "BLOCKS_UNKNOWN"])
    await plane.close()
  })
})
