import { createLimiter } from "sluice"
import { redisStore } from "sluice/redis"
import { describe, expect, it } from "vitest"
import { blockPolicy } from "../../packages/sluice/src/algorithms/block.js"
import { variants, withWindow } from "../../packages/sluice/src/testing/contract/policies.js"
import { PATIENT } from "./contract.js"
import { keysWithoutExpiry } from "./expiry-scan.js"
import { Counter, chargeOf, nameOf, times, useRedis } from "./one-server.js"

const redis = useRedis()

async function ttl(counter: Counter, key?: string): Promise<number> {
  return Number(await redis.server.cli("PTTL", nameOf(counter, key)))
}

async function exists(counter: Counter): Promise<boolean> {
  return (await redis.server.cli("EXISTS", nameOf(counter))) === 1
}

describe("a key lives", () => {
  it("one second longer than it counts", async () => {
    const store = await redis.store()
    const counter = new Counter(store, { algorithm: "token-bucket", limit: 10, window: "1m" })
    await store.check([counter.charge(5)])
    expect(await ttl(counter)).toBeGreaterThan(30_000)
    expect(await ttl(counter)).toBeLessThanOrEqual(31_000)
  })

  it("expiryBuffer longer than it counts", async () => {
    const store = await redis.store({ expiryBuffer: "1h" })
    const counter = new Counter(store, { algorithm: "sliding-window-log", limit: 10, window: "1m" })
    await store.check([counter.charge(5)])
    expect(await ttl(counter)).toBeGreaterThan(3_600_000)
    expect(await ttl(counter)).toBeLessThanOrEqual(3_660_000)
  })

  it("at least minExpiry", async () => {
    const store = await redis.store({ expiryBuffer: 0, minExpiry: "20s" })
    const counter = new Counter(store, { algorithm: "gcra", limit: 10, window: "100ms" })
    await store.check([counter.charge(5)])
    expect(await ttl(counter)).toBeGreaterThan(10_000)
    expect(await ttl(counter)).toBeLessThanOrEqual(20_000)
  })

  it("a whole number of milliseconds, whatever the window and the options", async () => {
    const store = await redis.store({ expiryBuffer: 0.4, minExpiry: 0 })
    for (const window of [0.001, 0.5, 1.5, 999.999]) {
      for (const { limit } of variants.filter(({ limit }) => limit.buckets === undefined)) {
        const counter = new Counter(store, withWindow(limit, window))
        await store.check([counter.charge(5)])
        await store.refund([counter.charge(1)])
      }
    }
    expect(await keysWithoutExpiry([redis.server])).toEqual([])
  })
})

describe.each(variants)("$title", ({ limit }) => {
  it("writes nothing for a look, a denial or a refund on a key never used", async () => {
    const store = await redis.store()
    const counter = new Counter(store, limit)
    await store.check([counter.charge(0)])
    await store.decide([counter.charge(1)])
    await store.check([counter.charge(1_000)])
    await store.refund([counter.charge(1)])
    expect(await exists(counter)).toBe(false)
  })

  it("writes nothing for a refund on a key whose units have left", async () => {
    const store = await redis.store()
    const counter = new Counter(store, withWindow(limit, "6ms"))
    await store.check([counter.charge(3)], 1_000_000)
    await redis.server.cli("DEL", nameOf(counter))
    await store.refund([counter.charge(3)], 5_000_000)
    expect(await exists(counter)).toBe(false)
  })

  it("repairs a key that somebody made permanent, by a check that passes and by one that does not", async () => {
    const store = await redis.store()
    const counter = new Counter(store, limit)
    for (const cost of [10, 1, 10]) {
      await store.check([counter.charge(1)])
      await redis.server.cli("PERSIST", nameOf(counter))
      expect(await ttl(counter)).toBe(-1)
      await store.check([counter.charge(cost)])
      expect(await ttl(counter)).toBeGreaterThan(0)
      expect(await ttl(counter)).toBeLessThanOrEqual(200_000)
    }
  })

  it("repairs it by a charge and by a refund", async () => {
    const store = await redis.store()
    const counter = new Counter(store, limit)
    for (const call of ["charge", "refund"] as const) {
      await store.check([counter.charge(2)])
      await redis.server.cli("PERSIST", nameOf(counter))
      await store[call]([counter.charge(1)])
      expect(await ttl(counter)).toBeGreaterThan(0)
    }
  })

  it("leaves no key behind that a reset should have removed", async () => {
    const store = await redis.store()
    const counter = new Counter(store, limit)
    await store.check([counter.charge(3)])
    expect(await exists(counter)).toBe(true)
    await store.reset([counter.charge()])
    expect(await exists(counter)).toBe(false)
  })
})

it("a block ends with its time, also one that somebody made permanent", async () => {
  const store = await redis.store()
  const counter = new Counter(store, { limit: 10, window: "1m" })
  await store.charge([chargeOf(counter, blockPolicy, 30_000_000)])
  expect(await ttl(counter)).toBeGreaterThan(29_000)
  expect(await ttl(counter)).toBeLessThanOrEqual(31_000)
  await redis.server.cli("PERSIST", nameOf(counter))
  await store.check([chargeOf(counter, blockPolicy, 0)])
  expect(await ttl(counter)).toBeGreaterThan(0)
})

it("a window of half a second leaves no key without expiry", async () => {
  const { client } = await redis.client()
  const store = redis.later(redisStore(client, PATIENT))
  const limiter = createLimiter({ store, prefix: "half", limit: 3, window: 500 })
  await Promise.all(times(20, (i) => limiter.check(`user ${i % 5}`)))
  await Promise.all(times(20, (i) => limiter.refund(`user ${i % 7}`)))
  expect(await keysWithoutExpiry([redis.server])).toEqual([])
})
