// What a limiter can do to a key besides checking it.

import { describe, expect, it } from "vitest"
import { SluiceError } from "../errors.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import type { LimiterOptions } from "./limiter-options.js"

function limiterWith(options: LimiterOptions) {
  const clock = new ManualClock()
  return { clock, limiter: createLimiter({ clock, ...options }) }
}

describe("peek", () => {
  it("decides and charges nothing", async () => {
    const { limiter } = limiterWith({ limit: 2, window: "1m" })
    for (let i = 0; i < 5; i++)
      expect(await limiter.peek("key")).toMatchObject({ allowed: true, remaining: 2 })
    await limiter.check("key", { cost: 2 })
    expect(await limiter.peek("key")).toMatchObject({ remaining: 0 })
  })

  it("takes a limit of the call", async () => {
    const { limiter } = limiterWith({ limit: 2, window: "1m" })
    await limiter.check("key")
    expect(await limiter.peek("key", { limit: 10 })).toMatchObject({ limit: 10, remaining: 9 })
  })
})

describe("refund", () => {
  it("refunds 1 by default, and returns what is left", async () => {
    const { limiter } = limiterWith({ limit: 5, window: "1m" })
    await limiter.check("key", { cost: 4 })
    expect(await limiter.refund("key")).toMatchObject({ allowed: true, remaining: 2 })
    expect(await limiter.refund("key", 2)).toMatchObject({ remaining: 4 })
    expect(await limiter.refund("key", 100)).toMatchObject({ remaining: 5 })
    expect(await limiter.refund("never used", 100)).toMatchObject({ remaining: 5, resetAfterMs: 0 })
  })

  it("refunds every limit", async () => {
    const { limiter } = limiterWith({
      limits: [
        { limit: 5, window: "1s" },
        { limit: 9, window: "1m" },
      ],
    })
    await limiter.check("key", { cost: 4 })
    const { limits } = await limiter.refund("key", 3)
    expect(limits?.map((limit) => limit.remaining)).toEqual([4, 8])
  })
})

describe("reset", () => {
  it("resets a key under every limit, and no other key", async () => {
    const { limiter } = limiterWith({
      limits: [
        { limit: 5, window: "1s" },
        { limit: 9, window: "1m" },
      ],
    })
    for (const key of ["one", "other"]) await limiter.check(key, { cost: 5 })
    await limiter.reset("one")
    expect((await limiter.peek("one")).limits?.map((limit) => limit.remaining)).toEqual([5, 9])
    expect((await limiter.check("other")).allowed).toBe(false)
    await limiter.reset("never used")
  })
})

describe("checkMany", () => {
  it("answers in order, each request seeing the ones before it", async () => {
    const { clock, limiter } = limiterWith({ algorithm: "sliding-window-log", limit: 3, window: "1s" })
    const decisions = await limiter.checkMany([
      { key: "a", cost: 2 },
      { key: "b" },
      { key: "a", cost: 2 },
      { key: "a", cost: 1 },
      { key: "b", cost: 0 },
      { key: "a", at: clock.now() + 1_000, cost: 3 },
      { key: "c", limit: 50 },
    ])
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 1],
      [true, 2],
      [false, 1],
      [true, 0],
      [true, 2],
      [true, 0],
      [true, 49],
    ])
    expect(decisions.map(({ limit }) => limit)).toEqual([3, 3, 3, 3, 3, 3, 50])
  })

  it("with several limits keeps each request all-or-nothing by itself", async () => {
    const { limiter } = limiterWith({
      limits: [
        { limit: 10, window: "1s" },
        { limit: 2, window: "1m" },
      ],
    })
    const decisions = await limiter.checkMany([
      { key: "a", cost: 2 },
      { key: "a" },
      { key: "b" },
      { key: "a" },
    ])
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, true, false])
    expect(decisions[3]?.limits?.map((limit) => limit.remaining)).toEqual([8, 0])
  })

  it("of an empty list is an empty list", async () => {
    expect(await limiterWith({ limit: 1, window: "1s" }).limiter.checkMany([])).toEqual([])
  })

  it("charges nothing at all when one of the requests is a mistake", async () => {
    const { limiter } = limiterWith({ limit: 3, window: "1m" })
    const requests = [{ key: "a" }, { key: "", cost: 1 }]
    await expect(limiter.checkMany(requests)).rejects.toMatchObject({ code: "KEY_INVALID" })
    expect((await limiter.peek("a")).remaining).toBe(3)
  })
})

describe("block", () => {
  it("denies until it ends, and calls meanwhile do not extend it", async () => {
    const { clock, limiter } = limiterWith({ limit: 5, window: "1h" })
    await limiter.check("bad", { cost: 2 })
    await limiter.block("bad", "10s")
    for (let second = 0; second < 10; second++) {
      expect(limiter.checkSync("bad")).toMatchObject({
        allowed: false,
        deniedBy: "block",
        remaining: 0,
        retryAfterMs: 10_000 - second * 1_000,
        delayMs: 0,
      })
      clock.advance(1_000)
    }
    expect(limiter.checkSync("bad")).toMatchObject({ allowed: true, remaining: 2, deniedBy: undefined })
  })

  it("waits for the limit when that takes longer, and still names the block", async () => {
    const { limiter } = limiterWith({ algorithm: "sliding-window-log", limit: 1, window: "1h" })
    await limiter.check("bad")
    await limiter.block("bad", "10s")
    expect(await limiter.check("bad")).toMatchObject({ deniedBy: "block", retryAfterMs: 3_600_000 })
    expect(await limiter.check("bad", { cost: 2 })).toMatchObject({ retryAfterMs: Number.POSITIVE_INFINITY })
  })

  it("shows in peek, and a refund does not end it", async () => {
    const { limiter } = limiterWith({ limit: 5, window: "1h" })
    await limiter.block("bad", 5_000)
    expect(await limiter.peek("bad")).toMatchObject({ allowed: false, deniedBy: "block", remaining: 0 })
    expect(await limiter.refund("bad", 5)).toMatchObject({ allowed: false, deniedBy: "block" })
  })

  it("stays when the key is reset", async () => {
    const { limiter } = limiterWith({ limit: 5, window: "1h" })
    await limiter.check("bad", { cost: 5 })
    await limiter.block("bad", "10s")
    await limiter.reset("bad")
    expect(await limiter.check("bad")).toMatchObject({ allowed: false, deniedBy: "block" })
    await limiter.unblock("bad")
    expect(await limiter.check("bad")).toMatchObject({ allowed: true, remaining: 4 })
  })

  it("can be set again, and ended", async () => {
    const { limiter } = limiterWith({ limit: 5, window: "1h" })
    await limiter.block("bad", "1h")
    await limiter.block("bad", "1s")
    expect((await limiter.check("bad")).retryAfterMs).toBe(1_000)
    await limiter.unblock("bad")
    expect((await limiter.check("bad")).allowed).toBe(true)
  })

  it("holds for every limiter with the same prefix on the store, and for no other", async () => {
    const store = memoryStore()
    const options = { store, limit: 5, window: "1h" } as const
    await createLimiter(options).block("bad", "10s")
    expect((await createLimiter(options).check("bad")).allowed).toBe(false)
    expect((await createLimiter({ ...options, prefix: "other" }).check("bad")).allowed).toBe(true)
  })

  it.each(["1 fortnight", "", -1, Number.NaN, Number.POSITIVE_INFINITY, null, {}])(
    "for %o is refused",
    async (duration) => {
      const { limiter } = limiterWith({ limit: 5, window: "1h" })
      await expect(limiter.block("bad", duration as unknown as string)).rejects.toMatchObject({
        name: "SluiceError",
        code: "DURATION_INVALID",
        place: "block",
        found: duration,
      })
    },
  )
})

describe("close", () => {
  it("closes the store that the limiter created", async () => {
    for (const clock of [undefined, new ManualClock()]) {
      const limiter = createLimiter({ limit: 5, window: "1s", ...(clock && { clock }) })
      await limiter.check("key")
      await limiter.close()
      await expect(limiter.check("key")).rejects.toMatchObject({ code: "STORE_CLOSED" })
      expect(() => limiter.checkSync("key")).toThrow(SluiceError)
      await expect(limiter.checkMany([{ key: "key" }])).rejects.toMatchObject({ code: "STORE_CLOSED" })
      await expect(limiter.reset("key")).rejects.toMatchObject({ code: "STORE_CLOSED" })
      await limiter.close()
    }
  })

  it("does not close a store that was passed in", async () => {
    const store = memoryStore()
    await createLimiter({ store, limit: 5, window: "1s" }).close()
    expect((await createLimiter({ store, limit: 5, window: "1s" }).check("key")).allowed).toBe(true)
  })
})
