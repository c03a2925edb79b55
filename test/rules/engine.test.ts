// The rule engine on a real Redis: one decision over several rules, a fleet that counts together, and each rule's own way
// to go on without Redis.

import { Redis } from "ioredis"
import { redisStore } from "sluice/redis"
import { createRuleEngine, objectRules, type RuleEngine, type RuleSpec } from "sluice/rules"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { PATIENT } from "../redis/contract.js"
import { expectOnlyExpiringKeys } from "../redis/expiry-scan.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"

let server: RedisServer
const closing: (() => unknown)[] = []

beforeEach(async () => {
  server = await startRedis()
})

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await server.stop()
})

async function instance(rules: RuleSpec[], secret?: string): Promise<RuleEngine> {
  const client = new Redis(server.port, "127.0.0.1", { enableOfflineQueue: true, maxRetriesPerRequest: 0 })
  client.on("error", () => {})
  closing.push(() => client.disconnect())
  await client.ping()
  const store = redisStore(client, PATIENT)
  const engine = createRuleEngine({
    rules: { version: 1, rules },
    store,
    ...(secret === undefined ? {} : { secret }),
  })
  closing.push(
    () => store.close(),
    () => engine.close(),
  )
  return engine
}

const hourly = (limit: number) => [{ limit, window: "1h", algorithm: "token-bucket" as const }]
const from = (ip: string) => ({ method: "GET", path: "/", ip })

describe("rules on Redis", () => {
  it("are counted together by all instances, which admit no request too many", async () => {
    const rules = [
      { id: "client", limits: hourly(20) },
      { id: "all", keyBy: "global", limits: hourly(50) },
      { id: "watch", mode: "shadow" as const, limits: hourly(5) },
    ]
    const fleet = await Promise.all([instance(rules), instance(rules), instance(rules)])
    const decisions = await Promise.all(
      Array.from({ length: 300 }, (_, i) => fleet[i % 3]?.check(from(`10.0.0.${i % 4}`))),
    )
    expect(decisions.filter((decision) => decision?.allowed)).toHaveLength(50)
    expect(decisions.every((decision) => decision?.degraded === undefined)).toBe(true)
    // A denial charges nothing: what the clients used adds up to what passed.
    const left = await Promise.all(
      [0, 1, 2, 3].map(async (i) => (await (await instance(rules)).peek(from(`10.0.0.${i}`))).rules[0]),
    )
    const used = left.map((outcome) => 20 - (outcome?.limits[0]?.remaining ?? 0))
    expect(used.reduce((a, b) => a + b)).toBe(50)
    await expectOnlyExpiringKeys([server])
  })

  it("store no API key in clear, and need a secret to hash keys the same", async () => {
    const rules = [{ id: "api", keyBy: "apiKey", limits: hourly(3) }]
    await expect(instance(rules)).rejects.toThrow("SECRET_MISSING")
    await (await instance(rules, "shared")).check({ apiKey: "sk-very-secret" })
    const decision = await (await instance(rules, "shared")).check({ apiKey: "sk-very-secret" })
    expect(decision.remaining).toBe(1)
    const client = new Redis(server.port, "127.0.0.1")
    closing.push(() => client.disconnect())
    expect((await client.keys("*")).join()).not.toContain("secret")
  })

  it.each<[string, (engine: RuleEngine) => Promise<unknown>]>([
    ["header:authorization", (engine) => engine.check({ headers: { authorization: "Bearer sk-secret" } })],
    ["header:x-api-key", (engine) => engine.check({ headers: { "x-api-key": "sk-secret" } })],
    ["apiKey", (engine) => engine.checkRateLimit("apiKey:sk-secret", { rule: "api" })],
    ["apiKey", (engine) => engine.checkRateLimit("apiKey:sk-secret")],
  ])("store no credential in clear when they count by %s, and need a secret", async (keyBy, ask) => {
    const rules = [{ id: "api", keyBy, limits: hourly(3) }]
    await expect(instance(rules)).rejects.toThrow("SECRET_MISSING")
    await ask(await instance(rules, "shared"))
    const client = new Redis(server.port, "127.0.0.1")
    closing.push(() => client.disconnect())
    const keys = await client.keys("*")
    expect(keys.filter((key) => key.includes("api"))).toHaveLength(1)
    expect(keys.join()).not.toContain("secret")
  })

  it("follow their own onStoreFailure when Redis is away, and a request still passes all of them or none", async () => {
    const engine = await instance([
      { id: "login", match: { path: "/login" }, limits: hourly(5), onStoreFailure: "deny" },
      { id: "search", match: { path: "/search" }, limits: hourly(2), onStoreFailure: "allow" },
      { id: "everything", limits: hourly(3) },
    ])
    await engine.check(from("10.0.0.9"))
    await server.kill()
    const ask = (path: string, ip: string) => engine.check({ method: "GET", path, ip })
    for (let i = 0; i < 5; i++)
      expect(await ask("/login", "10.0.0.1")).toMatchObject({
        allowed: false,
        degraded: "deny",
        rule: "login",
      })
    // Denied by the login rule, so nothing was taken from the local share of the other.
    const searches = [
      await ask("/search", "10.0.0.1"),
      await ask("/search", "10.0.0.1"),
      await ask("/search", "10.0.0.1"),
    ]
    expect(searches.map(({ allowed, degraded }) => [allowed, degraded])).toEqual([
      [true, "local"],
      [true, "local"],
      [true, "local"],
    ])
    expect(await ask("/search", "10.0.0.1")).toMatchObject({
      allowed: false,
      degraded: "local",
      rule: "everything",
    })
  })

  it("leave no key after a rule is deleted and its windows have ended", async () => {
    const before = await instance([
      { id: "gone", limits: [{ limit: 5, window: "1s", algorithm: "fixed-window" }] },
    ])
    await before.check(from("10.0.0.1"))
    const client = new Redis(server.port, "127.0.0.1")
    closing.push(() => client.disconnect())
    const counters = async () => (await client.keys("*")).filter((key) => key.includes("gone"))
    expect(await counters()).toHaveLength(1)
    await expect.poll(counters).toEqual([])
  })
})

describe("an engine whose rules change", () => {
  it("finishes each decision with the set that it began with, and names the revision", async () => {
    const set = (limit: number) => ({ version: 1 as const, rules: [{ id: "a", limits: hourly(limit) }] })
    const source = objectRules(set(1_000))
    const client = new Redis(server.port, "127.0.0.1")
    const store = redisStore(client, PATIENT)
    const engine = createRuleEngine({ rules: source, store })
    closing.push(
      () => client.disconnect(),
      () => store.close(),
      () => engine.close(),
    )
    for (let revision = 1; revision <= 20; revision++) {
      const before = engine.check(from("10.0.0.1"))
      await source.save(set(1_000 + revision), { by: "test" })
      const after = engine.check(from("10.0.0.1"))
      expect(await before).toMatchObject({ revision, limit: 1_000 + revision - 1 })
      expect(await after).toMatchObject({ revision: revision + 1, limit: 1_000 + revision })
    }
    // Forty requests, and no change of the limit has forgotten one.
    expect((await engine.peek(from("10.0.0.1"))).remaining).toBe(1_020 - 40)
  })
})
