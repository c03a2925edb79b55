import { describe, expect, it } from "vitest"
import type { Decision } from "../decision.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import type { Store } from "../stores/store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import type { LimiterOptions } from "./limiter-options.js"

function limiterWith(options: LimiterOptions) {
  const clock = new ManualClock()
  return { clock, limiter: createLimiter({ clock, ...options }) }
}

/** The same store without its synchronous calls, as one across a network would be. */
function withoutSync(store: Store): Store {
  return {
    check: (charges, at) => store.check(charges, at),
    decide: (charges, at) => store.decide(charges, at),
    checkMany: (checks) => store.checkMany(checks),
    charge: (charges, at) => store.charge(charges, at),
    refund: (charges, at) => store.refund(charges, at),
    settle: (settlements, at) => store.settle(settlements, at),
    reset: (charges) => store.reset(charges),
    mayBlock: () => true,
    close: () => store.close(),
  }
}

describe("check", () => {
  it("is a sliding window counter in memory by default", async () => {
    const { clock, limiter } = limiterWith({ limit: 100, window: "1m" })
    const first = await limiter.check("user:42", { cost: 80 })
    expect(first).toEqual<Decision>({
      allowed: true,
      limit: 100,
      remaining: 20,
      used: 80,
      windowMs: 60_000,
      retryAfterMs: 0,
      resetAfterMs: expect.any(Number),
      resetAt: clock.now() + first.resetAfterMs,
      delayMs: 0,
      deniedBy: undefined,
      degraded: undefined,
      limits: undefined,
    })
    clock.advance(75_000)
    expect((await limiter.check("user:42")).remaining).toBe(39)
    clock.advance(30_000)
    expect((await limiter.peek("user:42")).remaining).toBe(79)
  })

  it("returns a denial as a value that names the limit", async () => {
    const { limiter } = limiterWith({ limit: 1, window: "10s", algorithm: "sliding-window-log" })
    await limiter.check("user:42")
    expect(await limiter.check("user:42")).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 10_000,
      resetAfterMs: 10_000,
      deniedBy: "1/10s",
    })
  })

  it("names a denial by the limit's own name", async () => {
    const { limiter } = limiterWith({ name: "login", limit: 1, window: "10s" })
    await limiter.check("user:42")
    expect((await limiter.check("user:42")).deniedBy).toBe("login")
  })

  it("returns milliseconds, exact to a microsecond", async () => {
    const { clock, limiter } = limiterWith({ algorithm: "token-bucket", limit: 7, window: "1s", burst: 1 })
    await limiter.check("key")
    const { retryAfterMs, resetAt } = await limiter.check("key")
    expect(retryAfterMs).toBe(142.858)
    expect(resetAt).toBe(clock.now() + 142.858)
    clock.advance(142.857)
    expect((await limiter.check("key")).retryAfterMs).toBe(0.001)
    clock.advance(0.001)
    expect((await limiter.check("key")).allowed).toBe(true)
  })

  it("returns Infinity for a cost that cannot fit", async () => {
    const { limiter } = limiterWith({ limit: 5, window: "1s" })
    const decision = await limiter.check("key", { cost: 6 })
    expect(decision).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY, remaining: 5 })
  })

  it("uses the clock of the machine by default", async () => {
    const limiter = createLimiter({ limit: 1, window: "1h", algorithm: "sliding-window-log" })
    const before = Date.now()
    const { resetAt } = await limiter.check("key")
    expect(resetAt - 3_600_000).toBeGreaterThanOrEqual(before - 1)
    expect(resetAt - 3_600_000).toBeLessThanOrEqual(Date.now() + 1)
    await limiter.close()
  })

  it("uses its own clock on a store that has another", async () => {
    const store = memoryStore({ clock: new ManualClock() })
    const { clock, limiter } = limiterWith({ algorithm: "fixed-window", limit: 1, window: "1m", store })
    expect((await limiter.check("key")).allowed).toBe(true)
    expect(limiter.checkSync("key").allowed).toBe(false)
    clock.advance(60_000)
    expect(limiter.checkSync("key").allowed).toBe(true)
  })

  it("takes fractional milliseconds and rounds them to the nearest microsecond", async () => {
    const { limiter } = limiterWith({ algorithm: "sliding-window-log", limit: 1, window: "1ms" })
    const at = Date.UTC(2026, 0, 1)
    await limiter.check("key", { at: at + 0.00025 })
    expect((await limiter.check("key", { at: at + 0.9992 })).allowed).toBe(false)
    expect((await limiter.check("key", { at: at + 0.9998 })).allowed).toBe(true)
  })
})

describe("options", () => {
  it.each([
    [{ algorithm: "fixed-window", limit: 3, window: 1_000 }, 3],
    [{ algorithm: "sliding-window-log", limit: 3, window: "1s" }, 3],
    [{ algorithm: "sliding-window-counter", limit: 3, window: "1s", buckets: 10 }, 3],
    [{ algorithm: "token-bucket", limit: 3, window: "1s" }, 3],
    [{ algorithm: "token-bucket", limit: 3, window: "1s", burst: 8 }, 8],
    [{ algorithm: "leaky-bucket", limit: 3, window: "1s", burst: 2 }, 2],
    [{ algorithm: "gcra", limit: 3, window: "1s" }, 3],
    [{ algorithm: "gcra", limit: 3, window: "1s", maxBurst: 5 }, 6],
  ] as const)("%o lets %i through at once and says so", async (options, most) => {
    const { limiter } = limiterWith(options)
    for (let left = most - 1; left >= 0; left--) {
      expect(await limiter.check("key")).toMatchObject({ allowed: true, limit: most, remaining: left })
    }
    expect(await limiter.check("key")).toMatchObject({ allowed: false, limit: most, remaining: 0 })
  })

  it("anchor: first-request starts the window with the first request", async () => {
    const { clock, limiter } = limiterWith({
      algorithm: "fixed-window",
      limit: 1,
      window: "1m",
      anchor: "first-request",
    })
    clock.advance(59_000)
    expect((await limiter.check("key")).resetAfterMs).toBe(60_000)
    clock.advance(59_999)
    expect((await limiter.check("key")).allowed).toBe(false)
    clock.advance(1)
    expect((await limiter.check("key")).allowed).toBe(true)
  })

  it("overflow: queue returns how long to hold each request", async () => {
    const { limiter } = limiterWith({
      algorithm: "leaky-bucket",
      limit: 10,
      window: "1s",
      burst: 3,
      overflow: "queue",
    })
    const delays: number[] = []
    for (let i = 0; i < 3; i++) delays.push((await limiter.check("key")).delayMs)
    expect(delays).toEqual([0, 100, 200])
    expect(await limiter.check("key")).toMatchObject({ allowed: false, delayMs: 0, retryAfterMs: 100 })
  })

  it("two limiters of one name on one store share counters unless their prefix differs", async () => {
    const store = memoryStore({ clock: new ManualClock() })
    const options = { store, name: "api", limit: 10, window: "1m" } as const
    const [one, twin, other] = [
      createLimiter(options),
      createLimiter(options),
      createLimiter({ ...options, prefix: "other" }),
    ]
    await one.check("key", { cost: 4 })
    expect((await twin.check("key")).remaining).toBe(5)
    expect((await other.check("key")).remaining).toBe(9)
  })

  it("a limit with a name that was raised in the code keeps its counts", async () => {
    const store = memoryStore({ clock: new ManualClock() })
    const options = { store, name: "api", window: "1m" } as const
    await createLimiter({ ...options, limit: 10 }).check("key", { cost: 10 })
    const raised = createLimiter({ ...options, limit: 15 })
    expect((await raised.check("key", { cost: 5 })).remaining).toBe(0)
  })
})

describe("options of one call", () => {
  it("a limit or burst of one call holds for that call and changes nothing else", async () => {
    const { limiter } = limiterWith({ algorithm: "token-bucket", limit: 10, window: "1m" })
    await limiter.check("key", { cost: 5 })
    expect(await limiter.check("key", { limit: 20 })).toMatchObject({
      allowed: true,
      limit: 20,
      remaining: 14,
    })
    expect(await limiter.check("key", { limit: 5 })).toMatchObject({ allowed: false, limit: 5, remaining: 0 })
    expect(await limiter.check("key", { burst: 30 })).toMatchObject({
      allowed: true,
      limit: 30,
      remaining: 23,
    })
    expect(await limiter.check("key")).toMatchObject({ allowed: true, limit: 10, remaining: 2 })
    expect(await limiter.check("other")).toMatchObject({ allowed: true, limit: 10, remaining: 9 })
  })

  it("hundreds of calls at once, each with its own limit, see only their own", async () => {
    const { limiter } = limiterWith({ limit: 10, window: "1m" })
    const decisions = await Promise.all(
      Array.from({ length: 3_000 }, (_, i) => limiter.check(`key ${i}`, { limit: 1 + i, cost: 1 })),
    )
    decisions.forEach(({ limit, remaining }, i) => {
      expect([limit, remaining]).toEqual([1 + i, i])
    })
    expect((await limiter.check("untouched")).limit).toBe(10)
  })

  it("the object passed in is left alone", async () => {
    const { limiter } = limiterWith({ limit: 10, window: "1m" })
    const options = Object.freeze({ cost: 2, limit: 5, at: Date.UTC(2026, 0, 1) })
    await limiter.check("key", options)
    await limiter.peek("key", Object.freeze({ limit: 5 }))
    const requests = Object.freeze([Object.freeze({ key: "key", cost: 1 })])
    await limiter.checkMany(requests)
    expect((await limiter.peek("key")).remaining).toBe(7)
  })

  it("at overrides the clock", async () => {
    const { clock, limiter } = limiterWith({ algorithm: "fixed-window", limit: 1, window: "1m" })
    await limiter.check("key")
    expect((await limiter.check("key")).allowed).toBe(false)
    expect((await limiter.check("key", { at: clock.now() + 60_000 })).allowed).toBe(true)
  })

  it("an option given as undefined is one not given", async () => {
    const { limiter } = limiterWith({ limit: 10, window: "1m" })
    const nothing = { cost: undefined, at: undefined, limit: undefined, burst: undefined } as object
    expect((await limiter.check("key", nothing)).remaining).toBe(9)
  })
})

describe("several limits", () => {
  const limits = [
    { limit: 3, window: "1s", algorithm: "token-bucket" },
    { name: "hourly", limit: 5, window: "1h", algorithm: "fixed-window" },
  ] as const

  it("are one decision, with an entry for each", async () => {
    const { clock, limiter } = limiterWith({ limits })
    expect(await limiter.check("key")).toEqual({
      allowed: true,
      limit: 3,
      remaining: 2,
      used: 1,
      windowMs: 1_000,
      retryAfterMs: 0,
      resetAfterMs: 3_600_000,
      resetAt: clock.now() + 3_600_000,
      delayMs: 0,
      deniedBy: undefined,
      degraded: undefined,
      limits: [
        {
          name: "3/1s",
          allowed: true,
          limit: 3,
          remaining: 2,
          used: 1,
          windowMs: 1_000,
          retryAfterMs: 0,
          resetAfterMs: 333.334,
          resetAt: clock.now() + 333.334,
        },
        {
          name: "hourly",
          allowed: true,
          limit: 5,
          remaining: 4,
          used: 1,
          windowMs: 3_600_000,
          retryAfterMs: 0,
          resetAfterMs: 3_600_000,
          resetAt: clock.now() + 3_600_000,
        },
      ],
    })
  })

  it("peeked at when full, say when a unit passes all of them", async () => {
    const { clock, limiter } = limiterWith({ limits })
    for (let i = 0; i < 3; i++) await limiter.check("key")
    expect(await limiter.peek("key")).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 333.334 })
    clock.advance(1_000)
    await limiter.check("key", { cost: 2 })
    expect(await limiter.peek("key")).toMatchObject({ used: 5, windowMs: 3_600_000, retryAfterMs: 3_599_000 })
  })

  it("name the one that denied, the one with the longest wait when several do", async () => {
    const { clock, limiter } = limiterWith({ limits })
    for (let i = 0; i < 3; i++) await limiter.check("key")
    expect(await limiter.check("key")).toMatchObject({
      allowed: false,
      deniedBy: "3/1s",
      retryAfterMs: 333.334,
    })
    clock.advance(1_000)
    for (let i = 0; i < 2; i++) await limiter.check("key")
    expect(await limiter.check("key")).toMatchObject({
      allowed: false,
      deniedBy: "hourly",
      retryAfterMs: 3_599_000,
    })
    expect(await limiter.check("key", { cost: 2 })).toMatchObject({ allowed: false, deniedBy: "hourly" })
  })

  it("drain nothing when the last one denies", async () => {
    const { limiter } = limiterWith({
      limits: [
        { limit: 100, window: "1m" },
        { limit: 1, window: "1h" },
      ],
    })
    await limiter.check("key")
    for (let i = 0; i < 50; i++) {
      const { allowed, limits } = await limiter.check("key")
      expect([allowed, limits?.[0]?.remaining, limits?.[1]?.remaining]).toEqual([false, 99, 0])
    }
  })

  it("show in each entry what is left when nothing was charged", async () => {
    const { limiter } = limiterWith({
      limits: [
        { name: "wide", limit: 100, window: "1m" },
        { name: "narrow", limit: 3, window: "1h" },
      ],
    })
    const { allowed, remaining, limits } = await limiter.check("key", { cost: 5 })
    expect([allowed, remaining]).toEqual([false, 3])
    expect(limits?.map((limit) => [limit.name, limit.allowed, limit.remaining, limit.resetAfterMs])).toEqual([
      ["wide", true, 100, 0],
      ["narrow", false, 3, 0],
    ])
  })

  it("of one are like a single one, with no list", async () => {
    const { limiter } = limiterWith({ limits: [{ limit: 2, window: "1s" }] })
    const decision = await limiter.check("key")
    expect(decision).toMatchObject({ limit: 2, remaining: 1 })
    expect(decision.limits).toBeUndefined()
  })
})

describe("checkSync", () => {
  it("decides as check does", async () => {
    const one = limiterWith({ limit: 5, window: "1s" })
    const other = limiterWith({ limit: 5, window: "1s" })
    for (let i = 0; i < 300; i++) {
      const options = i % 3 === 0 ? undefined : { cost: i % 4, limit: 4 + (i % 3) }
      expect(one.limiter.checkSync("key", options)).toEqual(await other.limiter.check("key", options))
      one.clock.advance(i % 50)
      other.clock.advance(i % 50)
    }
  })

  it("gives decisions that later calls do not change", () => {
    const { limiter } = limiterWith({ limit: 5, window: "1s" })
    const first = limiter.checkSync("key")
    const copy = { ...first }
    for (let i = 0; i < 10; i++) limiter.checkSync("key")
    expect(first).toEqual(copy)
  })

  it("is refused on a store that cannot answer at once", () => {
    const limiter = createLimiter({ store: withoutSync(memoryStore()), limit: 5, window: "1s" })
    expect(() => limiter.checkSync("key")).toThrow(
      expect.objectContaining({ name: "SluiceError", code: "STORE_NOT_SYNC", place: "checkSync" }),
    )
  })
})

describe("on a store that only answers later", () => {
  it("every call gives what it gives on the memory store", async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const limits = [
      { limit: 5, window: "1s" },
      { limit: 8, window: "1m", algorithm: "gcra" },
    ] as const
    const near = createLimiter({ clock, store, prefix: "near", limits })
    const far = createLimiter({ clock, store: withoutSync(store), prefix: "far", limits })
    for (let i = 0; i < 60; i++) {
      expect(await far.check("key", { cost: i % 3 })).toEqual(await near.check("key", { cost: i % 3 }))
      expect(await far.peek("key")).toEqual(await near.peek("key"))
      if (i % 7 === 0) expect(await far.refund("key", 2)).toEqual(await near.refund("key", 2))
      if (i % 20 === 0) for (const limiter of [near, far]) await limiter.block("key", "300ms")
      if (i % 25 === 0) for (const limiter of [near, far]) await limiter.reset("key")
      clock.advance(100)
    }
  })
})
