import { createLimiter } from "sluice"
import { redisStore } from "sluice/redis"
import { ManualClock } from "sluice/testing"
import { afterEach, describe, expect, it, vi } from "vitest"
import { IntlCalendar } from "../../packages/sluice/src/algorithms/calendar.js"
import { variants, withWindow } from "../../packages/sluice/src/testing/contract/policies.js"
import { PATIENT } from "./contract.js"
import { Counter, serverTime, useRedis } from "./one-server.js"

const redis = useRedis()
const HOUR = 3_600_000

afterEach(() => {
  vi.useRealTimers()
})

describe("the store's clock", () => {
  it.each([-HOUR, 0, HOUR])("counts when the caller's is off by %i ms", async (skew) => {
    const store = await redis.store()
    const counter = new Counter(store, { algorithm: "sliding-window-log", limit: 1, window: "1h" })
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + skew })
    const before = await serverTime(redis.server)
    const { now } = await store.check([counter.charge()])
    expect(now).toBeGreaterThanOrEqual(before)
    expect(now).toBeLessThanOrEqual(await serverTime(redis.server))
  })

  it.each(variants)("$title: callers an hour apart share one limit to the unit", async ({ limit }) => {
    const stores = [await redis.store(), await redis.store({}, "node-redis")]
    const counter = new Counter(stores[0] as never, withWindow(limit, "10d"))
    const real = Date.now()
    let passed = 0
    for (let i = 0; i < 30; i++) {
      vi.useFakeTimers({ toFake: ["Date"], now: real + (i % 2 === 0 ? HOUR : -HOUR) })
      const { allowed } = await (stores[i % 2] as (typeof stores)[0]).check([counter.charge()])
      if (allowed) passed++
    }
    expect(passed).toBe(10)
  })

  it.each([
    ["hour", 0],
    ["hour", HOUR],
    ["hour", -HOUR],
    ["hour", 30 * HOUR],
    ["day", 25 * HOUR],
    ["day", -25 * HOUR],
  ] as const)("picks the %s of a calendar when the caller's is off by %i ms", async (window, skew) => {
    const store = await redis.store()
    const limit = { algorithm: "fixed-window", limit: 2, window, timeZone: "Asia/Kathmandu" } as const
    const counter = new Counter(store, limit)
    const calendar = new IntlCalendar(window, limit.timeZone)
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + skew })
    for (const remaining of [1, 0, 0]) {
      const { now, verdicts } = await store.check([counter.charge()])
      calendar.find(now)
      expect(verdicts[0]).toMatchObject({ remaining, resetAfter: calendar.end - now })
    }
  })

  it("is the time in the decision", async () => {
    const { client } = await redis.client()
    const store = redis.later(redisStore(client, PATIENT))
    const limiter = createLimiter({
      store,
      prefix: "told",
      algorithm: "fixed-window",
      limit: 5,
      window: "1h",
    })
    const { resetAt, resetAfterMs } = await limiter.check("user")
    expect(Math.abs(resetAt - resetAfterMs - Date.now())).toBeLessThan(5_000)
    expect(Math.abs((resetAt / HOUR) % 1)).toBe(0)
  })
})

describe("a time given with the call", () => {
  it("counts, whatever the clocks say", async () => {
    const store = await redis.store({ time: "client", clock: new ManualClock(1) })
    const counter = new Counter(store, { limit: 1, window: "1m" })
    expect((await store.check([counter.charge()], 123_456_789_012_345)).now).toBe(123_456_789_012_345)
  })
})

describe('with time: "client"', () => {
  const WINDOW = 60_000
  const LIMIT = 10

  it("the caller's clock counts, to the microsecond", async () => {
    const clock = new ManualClock()
    clock.advance(0.123)
    const store = await redis.store({ time: "client", clock })
    const counter = new Counter(store, { limit: 1, window: "1m" })
    expect((await store.check([counter.charge()])).now).toBe(Date.UTC(2026, 0, 1) * 1000 + 123)
  })

  it("the system's clock counts when no clock is given", async () => {
    const store = await redis.store({ time: "client" })
    const counter = new Counter(store, { limit: 1, window: "1m" })
    vi.useFakeTimers({ toFake: ["Date"], now: 987_654_321 })
    expect((await store.check([counter.charge()])).now).toBe(987_654_321_000)
  })

  // Its units count until the end of the next window.
  const longest = (algorithm: string | undefined) =>
    algorithm === "sliding-window-counter" ? 2 * WINDOW : Math.ceil((WINDOW * 10) / 7)

  describe.each(variants)("$title", ({ limit }) => {
    async function open() {
      const clock = new ManualClock()
      clock.advance(12_345)
      const store = await redis.store({ time: "client", clock, expiryBuffer: "1d" })
      const counter = new Counter(store, limit)
      const check = async (cost = 1) => (await store.check([counter.charge(cost)])).verdicts[0]!
      return { clock, check }
    }

    it.each([-HOUR, -30_000, -1, 30_000, HOUR])(
      "a step of %i ms gives at most one refill and locks nobody out for longer than a window",
      async (step) => {
        const { clock, check } = await open()
        for (let i = 0; i < LIMIT; i++) expect((await check()).allowed).toBe(true)
        expect((await check()).allowed).toBe(false)
        clock.advance(step)
        let extra = 0
        while (extra <= LIMIT && (await check()).allowed) extra++
        expect(extra).toBeLessThanOrEqual(step > 0 ? LIMIT : 0)
        const { allowed, retryAfter } = await check()
        expect(allowed).toBe(false)
        expect(retryAfter / 1000).toBeLessThanOrEqual(
          longest(limit.algorithm) + (step < 0 ? -step % HOUR : 0),
        )
        clock.advance(retryAfter / 1000 - 0.001)
        expect((await check()).allowed).toBe(false)
        clock.advance(0.001)
        expect((await check()).allowed).toBe(true)
      },
    )

    it("a clock that steps forward and back refills once for each step forward, and no more", async () => {
      const { clock, check } = await open()
      let passed = 0
      const drain = async () => {
        while ((await check()).allowed) passed++
      }
      await drain()
      expect(passed).toBe(LIMIT)
      for (let round = 1; round <= 3; round++) {
        clock.advance(-HOUR)
        await drain()
        clock.advance(HOUR)
        await drain()
        expect(passed).toBeLessThanOrEqual(LIMIT * (1 + round))
      }
    })
  })
})
