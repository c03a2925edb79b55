import express from "express"
import { type Options, rateLimit, type Store } from "express-rate-limit"
import { Redis } from "ioredis"
import { afterEach, expect, it, vi } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { listenOnLoopback } from "../../outgoing/loopback.test-support.js"
import { type MemoryStore, memoryStore } from "../../stores/memory/memory-store.js"
import { redisStore } from "../../stores/redis/index.js"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RunningApp } from "../suite/adapter-suite.test-support.js"
import { expressRateLimitStore } from "./express-rate-limit-store.js"
import { describeOnBothStores } from "./stores.test-support.js"

const apps: RunningApp[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

async function serve(store: Store, options: Partial<Options> = {}): Promise<string> {
  const app = express()
  app.use(rateLimit({ windowMs: 3_600_000, limit: 2, standardHeaders: "draft-6", store, ...options }))
  app.get("/", (_request, response) => void response.send("hello"))
  const running = await listenOnLoopback(app)
  apps.push(running)
  return running.url
}

async function statuses(url: string, count: number): Promise<number[]> {
  const seen: number[] = []
  for (let i = 0; i < count; i++) seen.push((await fetch(url)).status)
  return seen
}

describeOnBothStores((openStore) => {
  it("counts for express-rate-limit, including denied requests", async () => {
    const store = expressRateLimitStore({ store: openStore() })
    const url = await serve(store)
    expect(await statuses(url, 4)).toEqual([200, 200, 429, 429])
    const counted = await store.get("127.0.0.1")
    expect(counted?.totalHits).toBe(4)
    const left = (counted?.resetTime?.getTime() ?? 0) - Date.now()
    expect(left).toBeGreaterThan(3_590_000)
    expect(left).toBeLessThanOrEqual(3_600_000)
  })

  it("reports the end of the window to express-rate-limit", async () => {
    const url = await serve(expressRateLimitStore({ store: openStore() }))
    const { headers } = await fetch(url)
    expect(headers.get("ratelimit-remaining")).toBe("1")
    expect(Number(headers.get("ratelimit-reset"))).toBeGreaterThan(3_590)
  })

  it("decrements for skipSuccessfulRequests, and never below zero", async () => {
    const store = expressRateLimitStore({ store: openStore() })
    const url = await serve(store, { skipSuccessfulRequests: true })
    expect(await statuses(url, 4)).toEqual([200, 200, 200, 200])
    await eventually(async () => (await store.get("127.0.0.1"))?.totalHits === 0)
    await store.decrement("127.0.0.1")
    expect((await store.get("127.0.0.1"))?.totalHits).toBe(0)
    await store.increment("127.0.0.1")
    expect((await store.get("127.0.0.1"))?.totalHits).toBe(1)
  })

  it("resets one key and keeps the others", async () => {
    const store = expressRateLimitStore({ store: openStore() })
    await store.increment("a")
    await store.increment("b")
    await store.resetKey("a")
    expect(await store.get("a")).toBeUndefined()
    expect((await store.get("b"))?.totalHits).toBe(1)
  })

  it("separates limiters with different prefixes in one store", async () => {
    const shared = openStore()
    const one = expressRateLimitStore({ store: shared, prefix: "one" })
    const two = expressRateLimitStore({ store: shared, prefix: "two" })
    await one.increment("a")
    expect((await two.increment("a")).totalHits).toBe(1)
    expect((await one.increment("a")).totalHits).toBe(2)
  })
})

it("starts a window at its first request, and a new one after its end", async () => {
  const clock = new ManualClock()
  const store = expressRateLimitStore({ store: memoryStore({ clock }) })
  store.init({ windowMs: 1_000 })
  clock.advance(300)
  const begun = clock.now()
  await store.increment("a")
  clock.advance(999)
  const { totalHits, resetTime } = await store.increment("a")
  expect([totalHits, resetTime?.getTime()]).toEqual([2, begun + 1_000])
  clock.advance(1)
  expect((await store.increment("a")).totalHits).toBe(1)
})

it("resets all keys only in its own store", async () => {
  const own = expressRateLimitStore()
  await own.increment("a")
  await own.resetAll?.()
  expect(await own.get("a")).toBeUndefined()
  expect((await own.increment("a")).totalHits).toBe(1)
  expect(own.localKeys).toBe(true)
  await own.shutdown()
  const given = expressRateLimitStore({ store: memoryStore() })
  expect(given.resetAll).toBeUndefined()
  expect(given.localKeys).toBe(false)
})

it.each([[7], [""], [undefined]])("counts the key %j like any other", async (key) => {
  const store = expressRateLimitStore()
  const url = await serve(store, { keyGenerator: () => key as string })
  expect(await statuses(url, 3)).toEqual([200, 200, 429])
  await store.resetKey(key as string)
  expect(await statuses(url, 1)).toEqual([200])
})

it("names separate counters apart, so that express-rate-limit sees no false double count", async () => {
  const errors = vi.spyOn(console, "error").mockImplementation(() => undefined)
  const codesOf = async (...limits: { windowMs: number; store: MemoryStore }[]) => {
    const app = express()
    for (const { windowMs, store } of limits) {
      app.use(rateLimit({ windowMs, store: expressRateLimitStore({ store }) }))
    }
    const running = await listenOnLoopback(app)
    apps.push(running)
    await fetch(running.url)
    return errors.mock.calls.splice(0).map(([error]) => (error as { code?: unknown }).code)
  }
  const [first, second] = [memoryStore(), memoryStore()]
  const apart = [
    { windowMs: 60_000, store: first },
    { windowMs: 60_000, store: second },
    { windowMs: 90_000, store: first },
  ]
  expect(await codesOf(...apart)).toEqual([])
  expect(await codesOf(...apart, { windowMs: 60_000, store: first })).toEqual(["ERR_ERL_DOUBLE_COUNT"])
  errors.mockRestore()
})

it.each([0, -1, Number.NaN, "1m", 1e15])("refuses the window %j at the start", (windowMs) => {
  expect(() => expressRateLimitStore().init({ windowMs: windowMs as number })).toThrow(
    /^rateLimit\.windowMs: must be a number of milliseconds.*\[WINDOW_INVALID\]$/,
  )
})

it("refuses a store or a Redis client in place of options, and says what to write", () => {
  const client = new Redis({ lazyConnect: true })
  for (const [given, instead] of [
    [memoryStore(), "takes options, not a store: write expressRateLimitStore({ store })"],
    [redisStore(client), "takes options, not a store: write expressRateLimitStore({ store })"],
    [client, "not a Redis client: write expressRateLimitStore({ store: redisStore(client) })"],
    [{ store: client }, "expressRateLimitStore.store: must be a store: write store: redisStore(client)"],
  ] as const) {
    expect(() => expressRateLimitStore(given as object)).toThrow(instead)
  }
  client.disconnect()
})

it("refuses unknown options", () => {
  expect(() => expressRateLimitStore({ prefx: "x" } as object)).toThrow(/prefx.*did you mean prefix/)
  expect(() => expressRateLimitStore({ prefix: "" })).toThrow(/expressRateLimitStore.prefix/)
})

it("ends a window at a whole millisecond, rounded up, so that a client may come back then", async () => {
  const clock = new ManualClock()
  clock.advance(0.25)
  const store = expressRateLimitStore({ store: memoryStore({ clock }) })
  store.init?.({ windowMs: 1_000 } as Options)
  const { resetTime } = await store.increment("user")
  expect(resetTime?.getTime()).toBe(Math.ceil(clock.now() + 1_000))
})
