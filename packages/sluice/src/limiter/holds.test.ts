import { describe, expect, it } from "vitest"
import { memoryStore } from "../stores/memory/memory-store.js"
import type { Store } from "../stores/store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import type { LimiterOptions } from "./limiter-options.js"
import { settle } from "./wait-queue.test-support.js"

// The first acquire of a limiter loads this; loaded before, it takes no time that a test could notice.
await import("./holds.js")

function setUp(options: Partial<LimiterOptions> = {}) {
  const clock = new ManualClock()
  const limiter = createLimiter({
    clock,
    algorithm: "concurrency",
    limit: 2,
    hold: "1m",
    ...options,
  } as LimiterOptions)
  return { clock, limiter }
}

describe("acquire", () => {
  it("holds at most the limit at a time, per key", async () => {
    const { limiter } = setUp()
    const first = await limiter.acquire("user:42")
    expect(first).toMatchObject({
      allowed: true,
      limit: 2,
      remaining: 1,
      retryAfterMs: 0,
      resetAfterMs: 60_000,
    })
    expect(await limiter.acquire("user:42")).toMatchObject({ allowed: true, remaining: 0 })
    const denied = await limiter.acquire("user:42")
    expect(denied).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 60_000,
      deniedBy: "2-at-once",
    })
    expect(denied.hold).toBeUndefined()
    expect(await limiter.acquire("user:43")).toMatchObject({ allowed: true })
  })

  it("frees the place when the hold is released, however often", async () => {
    const { limiter } = setUp({ limit: 1 })
    const { hold } = await limiter.acquire("key")
    await hold?.release()
    const next = await limiter.acquire("key")
    expect(next.allowed).toBe(true)
    await hold?.release()
    expect((await limiter.acquire("key")).allowed).toBe(false)
    await next.hold?.release()
    expect(await limiter.peek("key")).toMatchObject({ remaining: 1, resetAfterMs: 0 })
  })

  it("frees the place of a holder that never releases after its hold", async () => {
    const { clock, limiter } = setUp({ limit: 1 })
    const { hold } = await limiter.acquire("key")
    clock.advance(59_999.999)
    expect(await limiter.acquire("key")).toMatchObject({ allowed: false, retryAfterMs: 0.001 })
    clock.advance(0.001)
    const next = await limiter.acquire("key")
    expect(next.allowed).toBe(true)
    expect(await hold?.extend()).toBe(false)
    await hold?.release()
    expect((await limiter.acquire("key")).allowed).toBe(false)
  })

  it("holds on for another hold when extended", async () => {
    const { clock, limiter } = setUp({ limit: 1 })
    const { hold } = await limiter.acquire("key")
    for (let i = 0; i < 3; i++) {
      clock.advance(59_000)
      expect(await hold?.extend()).toBe(true)
    }
    clock.advance(59_999)
    expect((await limiter.acquire("key")).allowed).toBe(false)
    await hold?.release()
    expect(await hold?.extend()).toBe(false)
    expect((await limiter.acquire("key")).allowed).toBe(true)
  })

  it("takes a cost, and never one above the limit", async () => {
    const { limiter } = setUp({ limit: 4 })
    const { hold } = await limiter.acquire("key", { cost: 3 })
    expect(await limiter.acquire("key", { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 })
    expect(await limiter.acquire("key", { cost: 5 })).toMatchObject({
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    await hold?.release()
    expect(await limiter.acquire("key", { cost: 4 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  it("holds and charges rates together, all or nothing", async () => {
    const { limiter } = setUp({
      algorithm: undefined,
      limit: undefined,
      hold: undefined,
      limits: [
        { name: "at once", algorithm: "concurrency", limit: 2, hold: "1m" },
        { name: "rate", algorithm: "fixed-window", limit: 3, window: "1h" },
      ],
    } as unknown as Partial<LimiterOptions>)
    const holds = [await limiter.acquire("key"), await limiter.acquire("key")]
    const denied = await limiter.acquire("key")
    expect(denied).toMatchObject({ allowed: false, deniedBy: "at once" })
    expect(denied.limits?.map(({ remaining }) => remaining)).toEqual([0, 1])
    for (const { hold } of holds) await hold?.release()
    expect((await limiter.acquire("key")).allowed).toBe(true)
    expect(await limiter.acquire("key")).toMatchObject({ allowed: false, deniedBy: "rate" })
    // What the rate denied holds nothing, and a release gives the rate nothing back.
    expect((await limiter.peek("key")).limits?.map(({ remaining }) => remaining)).toEqual([1, 0])
  })

  it("is a check on a limiter of rates, with a hold that holds nothing", async () => {
    const clock = new ManualClock()
    const limiter = createLimiter({ clock, limit: 1, window: "1m" })
    const { allowed, hold } = await limiter.acquire("key")
    expect(allowed).toBe(true)
    expect(await hold?.extend()).toBe(true)
    await hold?.release()
    expect((await limiter.acquire("key")).allowed).toBe(false)
  })

  it("is released at the end of a block by await using", async () => {
    const { limiter } = setUp({ limit: 1 })
    {
      await using hold = (await limiter.acquire("key")).hold
      expect(hold).toBeDefined()
      expect((await limiter.acquire("key")).allowed).toBe(false)
    }
    expect((await limiter.acquire("key")).allowed).toBe(true)
  })

  it("denies a blocked key, and keeps it blocked through a release", async () => {
    const { limiter } = setUp()
    const { hold } = await limiter.acquire("key")
    await limiter.block("key", "1h")
    expect(await limiter.acquire("key")).toMatchObject({ allowed: false, deniedBy: "block" })
    await hold?.release()
    expect((await limiter.acquire("key")).allowed).toBe(false)
  })
})

describe("waiting for a place", () => {
  it("lets requests in as places are released, first come, first served", async () => {
    const { limiter } = setUp({ limit: 1 })
    const { hold } = await limiter.acquire("key")
    const order: string[] = []
    const enter = async (name: string) => {
      const { hold } = await limiter.acquire("key", { maxWaitMs: 30_000 })
      order.push(name)
      return hold
    }
    const waiting = ["a", "b", "c"].map(enter)
    await settle()
    expect(order).toEqual([])
    await hold?.release()
    await settle()
    expect(order).toEqual(["a"])
    await (await waiting[0])?.release()
    await settle()
    await (await waiting[1])?.release()
    await settle()
    expect(order).toEqual(["a", "b", "c"])
  })

  it("sees a place that another process released within 50 ms", async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const options = { store, clock, name: "shared", algorithm: "concurrency", limit: 1, hold: "1h" } as const
    const [here, there] = [createLimiter(options), createLimiter(options)]
    const { hold } = await there.acquire("key")
    const waiting = here.acquire("key", { maxWaitMs: 10_000 })
    await settle()
    await hold?.release()
    clock.advance(50)
    expect((await waiting).allowed).toBe(true)
  })

  it("denies after maxWaitMs, also if that is shorter than the pause between two questions", async () => {
    const { clock, limiter } = setUp({ limit: 1 })
    await limiter.acquire("key")
    const waiting = limiter.acquire("key", { maxWaitMs: 20 })
    await settle()
    clock.advance(19)
    await settle()
    expect(clock.pending).toBe(1)
    clock.advance(1)
    expect(await waiting).toMatchObject({ allowed: false, retryAfterMs: 59_980 })
    expect(clock.pending).toBe(0)
  })

  it("ends with the reason of a signal, and leaves the place to the next", async () => {
    const { limiter } = setUp({ limit: 1 })
    const { hold } = await limiter.acquire("key")
    const controller = new AbortController()
    const given = limiter.acquire("key", { maxWaitMs: 60_000, signal: controller.signal })
    const next = limiter.acquire("key", { maxWaitMs: 60_000 })
    await settle()
    controller.abort(new Error("gone"))
    await expect(given).rejects.toThrow("gone")
    await hold?.release()
    expect((await next).allowed).toBe(true)
    await expect(limiter.acquire("key", { signal: AbortSignal.abort() })).rejects.toThrow("aborted")
  })

  it("does not wait for a cost that can never fit", async () => {
    const { limiter } = setUp({ limit: 1 })
    expect((await limiter.acquire("key", { cost: 2, maxWaitMs: 60_000 })).allowed).toBe(false)
  })
})

describe("mistakes with holds", () => {
  it("refuses check, wait and refund, which could not release", async () => {
    const { limiter } = setUp()
    for (const call of [
      () => limiter.check("key"),
      () => limiter.checkSync("key"),
      () => limiter.wait("key"),
    ]) {
      await expect(async () => await call()).rejects.toThrow(
        expect.objectContaining({ code: "HOLD_REQUIRED", message: expect.stringContaining("call acquire") }),
      )
    }
    await expect(limiter.checkMany([{ key: "key" }])).rejects.toThrow("[HOLD_REQUIRED]")
    await expect(limiter.refund("key")).rejects.toThrow("release the hold")
    expect((await limiter.peek("key")).remaining).toBe(2)
  })

  it("names options that acquire does not take, and values of the wrong type", async () => {
    const { limiter } = setUp()
    await expect(limiter.acquire("key", { wait: true } as never)).rejects.toThrow("acquire.wait")
    await expect(limiter.acquire("key", { maxWaitMs: -1 })).rejects.toThrow("acquire.maxWaitMs")
    await expect(limiter.acquire("key", { signal: {} as AbortSignal })).rejects.toThrow("acquire.signal")
    await expect(limiter.acquire("")).rejects.toThrow("[KEY_INVALID]")
    await expect(limiter.acquire("key", { cost: 0.5 })).rejects.toThrow("[COST_INVALID]")
  })

  it("refuses a limit without hold, with a window, and hold on a rate", () => {
    const create = (options: object) => () => createLimiter(options as LimiterOptions)
    expect(create({ algorithm: "concurrency", limit: 2 })).toThrow("createLimiter.hold: is required")
    expect(create({ algorithm: "concurrency", limit: 2, hold: "1m", window: "1m" })).toThrow("hold is")
    expect(create({ algorithm: "concurrency", limit: 2, hold: "soon" })).toThrow("createLimiter.hold")
    expect(create({ limit: 2, window: "1m", hold: "1m" })).toThrow("is an option of concurrency only")
  })

  it("refuses a store that cannot release", () => {
    const methods = ["check", "decide", "checkMany", "charge", "refund", "reset", "mayBlock", "close"]
    const without = Object.fromEntries(methods.map((name) => [name, () => {}])) as unknown as Store
    expect(() => createLimiter({ algorithm: "concurrency", limit: 1, hold: "1m", store: without })).toThrow(
      "createLimiter.store: must be a store with release and extend",
    )
  })
})
