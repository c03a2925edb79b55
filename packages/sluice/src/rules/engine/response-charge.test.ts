import { Redis } from "ioredis"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type RedisServer, startRedis } from "../../../../../test/support/redis/single.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { redisStore } from "../../stores/redis/index.js"
import type { Store } from "../../stores/store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RuleRequest } from "../identity/rule-request.js"
import type { LimitSpec, RuleSpec } from "../language/schema.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"
import type { RuleEngineOptions } from "./engine-options.js"

const engines: RuleEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

const perMinute = (limit: number): LimitSpec => ({ limit, window: "1m", algorithm: "fixed-window" })

function start(rules: RuleSpec[], options: Partial<RuleEngineOptions> = {}) {
  const clock = new ManualClock()
  const engine = createRuleEngine({ rules: { version: 1, rules }, clock, ...options })
  engines.push(engine)
  const left = async () => (await engine.peek(request)).remaining
  return { clock, engine, left }
}

const request: RuleRequest = { method: "POST", path: "/v1/chat", ip: "203.0.113.7" }
const tokens = (used: number | string) => ({ status: 200, headers: { "x-tokens": String(used) } })
const byTokens: RuleSpec = {
  id: "tokens",
  limits: [perMinute(1_000)],
  cost: { responseHeader: "X-Tokens", estimate: 100 },
}

describe("refundOn", () => {
  const rule: RuleSpec = { id: "api", limits: [perMinute(10)], refundOn: ["5xx", 404] }

  it("refunds a request whose answer has a listed status, and no other", async () => {
    for (const [status, remaining] of [
      [200, 9],
      [403, 9],
      [404, 10],
      [499, 9],
      [500, 10],
      [599, 10],
    ] as const) {
      const { engine, left } = start([rule])
      const decision = await engine.check(request)
      expect(engine.mustSettle(decision)).toBe(true)
      await engine.settle(decision, { status })
      expect([status, await left()]).toEqual([status, remaining])
    }
  })

  it("takes a single status as well as a list, so that only failures may count", async () => {
    const { engine, left } = start([{ id: "login", limits: [perMinute(3)], refundOn: "2xx" }])
    await engine.settle(await engine.check(request), { status: 204 })
    await engine.settle(await engine.check(request), { status: 401 })
    expect(await left()).toBe(2)
  })

  it("keeps the charges of rules without refundOn", async () => {
    const { engine } = start([rule, { id: "all", limits: [perMinute(5)] }])
    await engine.settle(await engine.check(request), { status: 503 })
    const { rules } = await engine.peek(request)
    expect(rules.map(({ rule, limits }) => [rule, limits[0]?.remaining])).toEqual([
      ["api", 10],
      ["all", 4],
    ])
  })

  it("takes precedence over the cost in the answer", async () => {
    const { engine, left } = start([{ ...byTokens, refundOn: "5xx" }])
    await engine.settle(await engine.check(request), { ...tokens(700), status: 500 })
    expect(await left()).toBe(1_000)
  })

  it("settles a decision once", async () => {
    const { engine, left } = start([rule])
    await engine.check(request)
    const decision = await engine.check(request)
    await engine.settle(decision, { status: 500 })
    expect(engine.mustSettle(decision)).toBe(false)
    await engine.settle(decision, { status: 500 })
    expect(await left()).toBe(9)
  })

  it("has nothing to settle for a denial, a peek, and a rule that does not depend on answers", async () => {
    const { engine } = start([{ ...rule, limits: [perMinute(1)] }])
    expect(engine.mustSettle(await engine.peek(request))).toBe(false)
    await engine.check(request)
    const denied = await engine.check(request)
    expect(denied.allowed).toBe(false)
    expect(engine.mustSettle(denied)).toBe(false)
    const { engine: plain } = start([{ id: "plain", limits: [perMinute(1)] }])
    expect(plain.mustSettle(await plain.check(request))).toBe(false)
  })

  it("refunds nothing for a request that the store never charged", async () => {
    const memory: Store = memoryStore()
    const store: Store = {
      check: async (...args) => ({ ...(await memory.decide(...args)), degraded: "allow" }),
      decide: (...args) => memory.decide(...args),
      checkMany: (...args) => memory.checkMany(...args),
      charge: (...args) => memory.charge(...args),
      settle: (...args) => memory.settle(...args),
      refund: (...args) => memory.refund(...args),
      reset: (...args) => memory.reset(...args),
      mayBlock: (namespace) => memory.mayBlock(namespace),
      close: () => memory.close(),
    }
    const { engine, left } = start([{ ...rule, onStoreFailure: "allow" }], { store })
    const decision = await engine.check(request)
    expect(decision).toMatchObject({ allowed: true, degraded: "allow" })
    expect(engine.mustSettle(decision)).toBe(false)
    expect(await left()).toBe(10)
  })

  it("refunds nothing for a charge whose window has ended", async () => {
    const { clock, engine, left } = start([rule])
    const slow = await engine.check(request)
    clock.advance(60_000)
    await engine.check(request)
    await engine.settle(slow, { status: 500 })
    expect(await left()).toBe(9)
  })
})

describe("cost.responseHeader", () => {
  it("charges the estimate first, and corrects it by the answer", async () => {
    const { engine, left } = start([byTokens])
    const cheap = await engine.check(request)
    expect(cheap.remaining).toBe(900)
    await engine.settle(cheap, tokens(30))
    expect(await left()).toBe(970)
    await engine.settle(await engine.check(request), tokens(250))
    expect(await left()).toBe(720)
    await engine.settle(await engine.check(request), tokens(0))
    expect(await left()).toBe(720)
  })

  it("denies when the estimate does not fit, whatever the answer would have cost", async () => {
    const { engine } = start([byTokens])
    await engine.settle(await engine.check(request), tokens(950))
    expect(await engine.check(request)).toMatchObject({ allowed: false, remaining: 50 })
  })

  it("charges at most the rest of the limit for an expensive answer, so that the wait does not grow", async () => {
    const limits: LimitSpec[] = [
      perMinute(1_000),
      { name: "bucket", limit: 1_000, window: "1m", algorithm: "token-bucket" },
      { name: "log", limit: 1_000, window: "1m", algorithm: "sliding-window-log" },
      { name: "counter", limit: 1_000, window: "1m", algorithm: "sliding-window-counter" },
    ]
    for (const limit of limits) {
      const { clock, engine } = start([{ ...byTokens, limits: [limit] }])
      await engine.settle(await engine.check(request), tokens(900_000))
      const denied = await engine.check(request)
      expect(denied).toMatchObject({ allowed: false, remaining: 0 })
      expect(denied.resetAfterMs).toBeLessThanOrEqual(120_000)
      clock.advance(denied.retryAfterMs)
      expect((await engine.check(request)).allowed).toBe(true)
    }
  })

  it("charges each of several limits at most its rest", async () => {
    const { engine } = start([
      {
        ...byTokens,
        limits: [
          { name: "burst", ...perMinute(200) },
          { name: "daily", limit: 10_000, window: "1d" },
        ],
      },
    ])
    await engine.settle(await engine.check(request), tokens(1_500))
    const { rules } = await engine.peek(request)
    expect(rules[0]?.limits.map(({ name, remaining }) => [name, remaining])).toEqual([
      ["burst", 0],
      ["daily", 8_500],
    ])
  })

  it("keeps the estimate when the answer has no whole number", async () => {
    for (const said of ["", "-5", "1.5", "many", "1e3", "99999999999999999999"]) {
      const { engine, left } = start([byTokens])
      await engine.settle(await engine.check(request), tokens(said))
      expect([said, await left()]).toEqual([said, 900])
    }
    const { engine, left } = start([byTokens])
    await engine.settle(await engine.check(request), { status: 200 })
    expect(await left()).toBe(900)
  })

  it("is the cost that the caller names, before the header and for rules that read the answer only", async () => {
    const { engine, left } = start([byTokens])
    await engine.settle(await engine.check(request), { ...tokens(300), cost: 20 })
    expect(await left()).toBe(980)
    const decision = await engine.check(request)
    await expect(engine.settle(decision, { status: 200, cost: -1 })).rejects.toMatchObject({
      code: "COST_INVALID",
    })
    const other = start([{ id: "api", limits: [perMinute(10)], refundOn: "5xx" }])
    await other.engine.settle(await other.engine.check(request), { status: 200, cost: 5 })
    expect(await other.left()).toBe(9)
  })

  it("accepts at most max", async () => {
    const { engine, left } = start([
      { ...byTokens, cost: { responseHeader: "x-tokens", estimate: 10, max: 40 } },
    ])
    await engine.settle(await engine.check(request), tokens(500))
    expect(await left()).toBe(960)
  })

  it("reads the trailers if the headers lack it", async () => {
    const { engine, left } = start([byTokens])
    await engine.settle(await engine.check(request), {
      status: 200,
      headers: {},
      trailers: { "x-tokens": "7" },
    })
    expect(await left()).toBe(993)
  })

  it("reads the headers of a fetch response too", async () => {
    const { engine, left } = start([byTokens])
    const { status, headers } = new Response("", { headers: { "X-Tokens": "7" } })
    await engine.settle(await engine.check(request), { status, headers })
    expect(await left()).toBe(993)
  })

  it("is estimated by method and path like any cost, and free requests stay free", async () => {
    const cost = {
      responseHeader: "x-tokens",
      estimate: 100,
      by: [
        { path: "/v1/models", cost: 0 },
        { path: "/v1/chat", cost: 300 },
      ],
    }
    const { engine, left } = start([{ ...byTokens, cost }])
    const free = await engine.check({ ...request, path: "/v1/models" })
    expect(engine.mustSettle(free)).toBe(false)
    expect((await engine.check(request)).remaining).toBe(700)
    expect(await left()).toBe(700)
  })

  it("corrects rules in shadow mode and candidates on their own counters", async () => {
    const { engine } = start([
      { ...byTokens, mode: "shadow" },
      { id: "api", limits: [perMinute(10)], candidate: { limits: [perMinute(2)] }, refundOn: "5xx" },
    ])
    await engine.settle(await engine.check(request), { ...tokens(400), status: 502 })
    const { rules } = await engine.peek(request)
    const left = rules.map(({ rule, candidate, limits }) => [rule, candidate, limits[0]?.remaining])
    expect(left).toContainEqual(["tokens", undefined, 600])
    expect(left).toContainEqual(["api", undefined, 10])
    expect(left).toContainEqual(["api", true, 2])
  })
})

describe("settling on Redis", () => {
  let server: RedisServer
  let client: Redis
  let store: Store
  beforeAll(async () => {
    server = await startRedis()
    client = new Redis(server.port, server.host)
    store = redisStore(client, { deadline: "10s" })
  })
  afterAll(async () => {
    await store.close()
    client.disconnect()
    await server.stop()
  })

  it("never charges more than the limit, however many answers come at once", async () => {
    const { engine, left } = start([byTokens], { store })
    const decisions = await Promise.all(Array.from({ length: 8 }, () => engine.check(request)))
    await Promise.all(decisions.slice(0, 4).map((decision) => engine.settle(decision, tokens(10))))
    expect(await left()).toBe(560)
    await Promise.all(decisions.slice(4).map((decision) => engine.settle(decision, tokens(150))))
    expect(await left()).toBe(360)
    const more = await Promise.all(Array.from({ length: 3 }, () => engine.check(request)))
    await Promise.all(more.map((decision) => engine.settle(decision, tokens(900))))
    expect(await left()).toBe(0)
  })
})
