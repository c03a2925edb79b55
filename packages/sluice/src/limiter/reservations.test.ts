import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { compilePolicy, type LimitOptions } from "../policy.js"
import { TestServer } from "../stores/leases/server.test-support.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { Namespace, type SyncStore } from "../stores/store.js"
import { variants } from "../testing/contract/policies.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter, type Limiter } from "./limiter.js"
import type { LimiterOptions } from "./limiter-options.js"

function setUp(options: Partial<LimiterOptions> = {}) {
  const clock = new ManualClock()
  const limiter = createLimiter({
    clock,
    algorithm: "fixed-window",
    limit: 1_000,
    window: "1m",
    ...options,
  } as LimiterOptions)
  const left = async () => (await limiter.peek("key")).remaining
  return { clock, limiter, left }
}

describe("reserve", () => {
  it("charges the estimate, and settles at the real cost once", async () => {
    const { limiter, left } = setUp()
    const decision = await limiter.reserve("key", { cost: 500 })
    expect(decision).toMatchObject({ allowed: true, remaining: 500 })
    expect(await decision.reservation?.settle(120)).toBe(true)
    expect(await left()).toBe(880)
    expect(await decision.reservation?.settle(0)).toBe(false)
    expect(await decision.reservation?.cancel()).toBe(false)
    expect(await left()).toBe(880)
  })

  it("gives everything back when cancelled, and keeps the estimate of what nobody settles", async () => {
    const { limiter, left } = setUp()
    const { reservation } = await limiter.reserve("key", { cost: 300 })
    await limiter.reserve("key", { cost: 200 })
    expect(await reservation?.cancel()).toBe(true)
    expect(await left()).toBe(800)
  })

  it("denies an estimate that does not fit, without a reservation", async () => {
    const { limiter, left } = setUp()
    const decision = await limiter.reserve("key", { cost: 1_001 })
    expect(decision).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY })
    expect(decision.reservation).toBeUndefined()
    expect(await left()).toBe(1_000)
  })

  it("charges more than the estimate beyond the limit, or as much as fits", async () => {
    for (const [overdraft, used] of [
      [undefined, 1_300],
      ["charge", 1_300],
      ["forgive", 1_000],
    ] as const) {
      const { limiter } = setUp()
      const options = overdraft === undefined ? { cost: 800 } : { cost: 800, overdraft }
      await (await limiter.reserve("key", options)).reservation?.settle(1_300)
      expect(await limiter.peek("key")).toMatchObject({ remaining: 0, used })
    }
  })

  it("reserves nothing with a cost of 0, and charges what it has cost", async () => {
    const { limiter, left } = setUp()
    const { reservation } = await limiter.reserve("key", { cost: 0 })
    expect(await left()).toBe(1_000)
    await reservation?.settle(40)
    expect(await left()).toBe(960)
  })

  it("can be settled while it is held only", async () => {
    const { clock, limiter, left } = setUp()
    const [late, early] = [
      await limiter.reserve("key", { cost: 100, hold: "10s" }),
      await limiter.reserve("key", { cost: 100, hold: "10s" }),
    ]
    clock.advance(9_999)
    expect(await early.reservation?.settle(0)).toBe(true)
    clock.advance(1)
    expect(await late.reservation?.settle(0)).toBe(false)
    expect(await left()).toBe(900)
  })

  it("gives a later window nothing", async () => {
    const { clock, limiter, left } = setUp()
    const { reservation } = await limiter.reserve("key", { cost: 100 })
    clock.advance(60_000)
    await limiter.check("key", { cost: 50 })
    expect(await reservation?.settle(0)).toBe(true)
    expect(await left()).toBe(950)
  })

  it("is all or nothing with several limits", async () => {
    const clock = new ManualClock()
    const limiter = createLimiter({
      clock,
      limits: [
        { name: "minute", limit: 100, window: "1m", algorithm: "token-bucket" },
        { name: "day", limit: 250, window: "1d", algorithm: "fixed-window" },
      ],
    })
    const both = async () => (await limiter.peek("key")).limits?.map(({ remaining }) => remaining)
    const { reservation } = await limiter.reserve("key", { cost: 60 })
    expect((await limiter.reserve("key", { cost: 60 })).allowed).toBe(false)
    expect(await both()).toEqual([40, 190])
    await reservation?.settle(10)
    expect(await both()).toEqual([90, 240])
  })

  it("holds one place of a limit of concurrency until it is settled", async () => {
    const limiter = createLimiter({
      clock: new ManualClock(),
      limits: [
        { name: "tokens", limit: 1_000, window: "1m", algorithm: "token-bucket" },
        { name: "calls", algorithm: "concurrency", limit: 2, hold: "5m" },
      ],
    })
    const both = async () => (await limiter.peek("key")).limits?.map(({ remaining }) => remaining)
    const first = await limiter.reserve("key", { cost: 400 })
    await limiter.reserve("key", { cost: 300 })
    expect(await limiter.reserve("key", { cost: 100 })).toMatchObject({ allowed: false, deniedBy: "calls" })
    expect(await both()).toEqual([300, 0])
    await first.reservation?.settle(500)
    expect(await both()).toEqual([200, 1])
  })

  it("goes to the store, also if its limit has leases, with one call each", async () => {
    const clock = new ManualClock()
    const store = new TestServer(clock)
    const limiter = createLimiter({ store, limit: 1_000, window: "1m", leases: true, name: "leased" })
    for (let i = 0; i < 20; i++) await limiter.check("key")
    store.calls.length = 0
    const decision = await limiter.reserve("key", { cost: 10 })
    expect(decision).toMatchObject({ allowed: true, source: "store" })
    expect(store.costs("check")).toEqual([10])
    await decision.reservation?.settle(4)
    expect(store.calls.map(({ operation }) => operation)).toEqual(["check", "settle"])
    await limiter.close()
  })

  it("refuses what is no cost, option or duration, and can be settled afterwards", async () => {
    const { limiter, left } = setUp()
    const bad = (options: object) => limiter.reserve("key", options as { cost: number })
    await expect(bad({ cost: -1 })).rejects.toMatchObject({ code: "COST_INVALID" })
    await expect(bad({ estimate: 1 })).rejects.toMatchObject({ code: "OPTION_UNKNOWN" })
    await expect(bad({ overdraft: "both" })).rejects.toMatchObject({ code: "OPTION_TYPE" })
    await expect(bad({ hold: "soon" })).rejects.toMatchObject({ code: "DURATION_INVALID" })
    const { reservation } = await limiter.reserve("key", { cost: 10 })
    await expect(reservation?.settle(1.5)).rejects.toMatchObject({ code: "COST_INVALID" })
    await expect(reservation?.settle(undefined as never)).rejects.toMatchObject({ code: "COST_INVALID" })
    expect(await reservation?.settle(3)).toBe(true)
    expect(await left()).toBe(997)
  })
})

describe.each(variants.filter(({ limit }) => limit.algorithm !== "concurrency"))("$title", ({ limit }) => {
  /** A limiter, and a way to charge its key without asking. */
  const pair = (options: LimitOptions) => {
    const clock = new ManualClock()
    const store: SyncStore = memoryStore({ clock })
    const limiter = createLimiter({ ...options, name: "a", store, clock } as LimiterOptions)
    const policy = compilePolicy(options, "")
    const twin = { namespace: new Namespace("twin"), key: "key", policy, cost: 0 }
    const charge = (cost: number, at: number) => store.charge([{ ...twin, cost }], at * 1_000)
    const peekTwin = () => store.checkSync([twin], clock.now() * 1_000).verdicts[0]
    return { clock, limiter, charge, peekTwin }
  }
  const seen = async (limiter: Limiter) => {
    const { remaining, retryAfterMs, resetAfterMs } = await limiter.peek("key")
    return {
      remaining,
      retryAfter: Math.round(retryAfterMs * 1_000),
      resetAfter: Math.round(resetAfterMs * 1_000),
    }
  }

  it("settled at once, equals a counter that was charged the real cost", async () => {
    const step = fc.record({ estimate: fc.nat(12), actual: fc.nat(25), after: fc.nat(90_000) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { clock, limiter, charge, peekTwin } = pair(limit)
        for (const { estimate, actual, after } of steps) {
          clock.advance(after)
          const { reservation, remaining } = await limiter.reserve("key", { cost: estimate })
          expect(remaining).toBeGreaterThanOrEqual(0)
          if (reservation !== undefined) {
            await reservation.settle(actual)
            await charge(actual, clock.now())
          }
          expect(peekTwin()).toMatchObject(await seen(limiter))
          expect((await seen(limiter)).remaining).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })

  it("settled later, gives back at most what still counts of the difference", async () => {
    const step = fc.record({ cost: fc.nat(20), after: fc.nat(50_000) })
    const scenario = fc.record({
      estimate: fc.integer({ min: 1, max: 100 }),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      others: fc.array(step, { maxLength: 8 }),
    })
    const wide = { ...limit, limit: 1_000 }
    if ("burst" in wide) wide.burst = 1_000
    if ("maxBurst" in wide) wide.maxBurst = 999
    await fc.assert(
      fc.asyncProperty(scenario, async ({ estimate, part, others }) => {
        const { clock, limiter, charge, peekTwin } = pair(wide)
        // A window from the first request on starts with a request that costs something.
        const actual = Math.max(Math.floor(estimate * part), 1)
        const { reservation } = await limiter.reserve("key", { cost: estimate })
        await charge(actual, clock.now())
        for (const { cost, after } of others) {
          clock.advance(after)
          await limiter.check("key", { cost })
          await charge(cost, clock.now())
        }
        const before = (await seen(limiter)).remaining
        await reservation?.settle(actual)
        const { remaining } = await seen(limiter)
        expect(remaining).toBeGreaterThanOrEqual(before)
        expect(remaining).toBeLessThanOrEqual(peekTwin()?.remaining as number)
      }),
    )
  })
})
