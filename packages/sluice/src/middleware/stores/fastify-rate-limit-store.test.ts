import plugin from "@fastify/rate-limit"
import fastify, { type FastifyInstance } from "fastify"
import { afterEach, expect, it } from "vitest"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { fastifyRateLimitStore } from "./fastify-rate-limit-store.js"
import { describeOnBothStores } from "./stores.test-support.js"

const apps: FastifyInstance[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

type Settings = Parameters<typeof plugin>[1]

async function serve(settings: Settings): Promise<string> {
  const app = fastify()
  apps.push(app)
  await app.register(plugin, { max: 2, timeWindow: "1 hour", ...settings })
  app.get("/", () => "hello")
  app.get("/own", { config: { rateLimit: { max: 1 } } }, () => "own")
  app.get("/other", { config: { rateLimit: { max: 1 } } }, () => "other")
  return await app.listen({ host: "127.0.0.1", port: 0 })
}

async function statuses(url: string, count: number): Promise<number[]> {
  const seen: number[] = []
  for (let i = 0; i < count; i++) seen.push((await fetch(url)).status)
  return seen
}

describeOnBothStores((openStore) => {
  it("counts for @fastify/rate-limit and reports the end of the window", async () => {
    const url = await serve({ store: fastifyRateLimitStore({ store: openStore() }) })
    const first = await fetch(url)
    expect(first.headers.get("x-ratelimit-remaining")).toBe("1")
    expect(Number(first.headers.get("x-ratelimit-reset"))).toBeGreaterThan(3_590)
    expect(await statuses(url, 3)).toEqual([200, 429, 429])
  })

  it("keeps a separate count for a route with its own limit", async () => {
    const url = await serve({ store: fastifyRateLimitStore({ store: openStore() }) })
    expect(await statuses(`${url}/own`, 2)).toEqual([200, 429])
    expect(await statuses(`${url}/other`, 2)).toEqual([200, 429])
    expect(await statuses(url, 3)).toEqual([200, 200, 429])
  })

  it("counts denied requests too, so that a ban is reached", async () => {
    const url = await serve({ store: fastifyRateLimitStore({ store: openStore() }), ban: 1 })
    expect(await statuses(url, 5)).toEqual([200, 200, 429, 403, 403])
  })

  it("reads without counting", async () => {
    const Store = fastifyRateLimitStore({ store: openStore() })
    const store = new Store({})
    const ask = (method: "incr" | "read"): Promise<number | undefined> =>
      new Promise((resolve) => store[method]("a", (_error, result) => resolve(result?.current), 60_000, 5))
    expect(await ask("incr")).toBe(1)
    expect(await ask("read")).toBe(1)
    expect(await ask("incr")).toBe(2)
  })
})

/** Counts with a clock, without a server. */
function start(settings: object): {
  clock: ManualClock
  incr: (max?: number) => Promise<[current: number, ttl: number]>
  read: () => Promise<[current: number, ttl: number]>
} {
  const clock = new ManualClock()
  const Store = fastifyRateLimitStore({ store: memoryStore({ clock }) })
  const store = new Store(settings)
  const ask = (method: "incr" | "read", max: number): Promise<[number, number]> =>
    new Promise((resolve, reject) => {
      store[method](
        "a",
        (error, result) => {
          if (result === undefined) reject(error)
          else resolve([result.current, result.ttl])
        },
        1_000,
        max,
      )
    })
  return { clock, incr: (max = 2) => ask("incr", max), read: () => ask("read", 2) }
}

it("restarts the window with each request above the limit, with continueExceeding", async () => {
  const { clock, incr, read } = start({ continueExceeding: true })
  expect([await incr(), await incr()]).toEqual([
    [1, 1_000],
    [2, 1_000],
  ])
  clock.advance(400)
  expect(await incr()).toEqual([3, 1_000])
  clock.advance(900)
  expect(await read()).toEqual([3, 100])
  expect(await incr()).toEqual([4, 1_000])
  clock.advance(1_000)
  expect(await read()).toEqual([0, 0])
  expect(await incr()).toEqual([1, 1_000])
  await incr()
  expect(await incr()).toEqual([3, 1_000])
})

it("doubles the wait with each request above the limit, with exponentialBackoff", async () => {
  const { clock, incr } = start({ exponentialBackoff: true })
  const waits: [number, number][] = []
  for (let i = 0; i < 5; i++) waits.push(await incr())
  expect(waits.slice(2)).toEqual([
    [3, 1_000],
    [4, 2_000],
    [5, 4_000],
  ])
  clock.advance(3_999)
  expect(await incr()).toEqual([6, 8_000])
  clock.advance(8_000)
  expect(await incr()).toEqual([1, 1_000])
  for (let i = 0; i < 99; i++) await incr()
  expect((await incr())[1]).toBe(86_400_000)
})

it("denies through @fastify/rate-limit while the window is extended", async () => {
  const url = await serve({ store: fastifyRateLimitStore(), exponentialBackoff: true })
  expect(await statuses(url, 4)).toEqual([200, 200, 429, 429])
  expect((await fetch(url)).headers.get("retry-after")).toBe(String(4 * 3_600))
})

it("takes any key", async () => {
  const url = await serve({ store: fastifyRateLimitStore(), keyGenerator: () => "" })
  expect(await statuses(url, 3)).toEqual([200, 200, 429])
})

it("refuses an invalid window at the start, and a store in place of options", async () => {
  await expect(serve({ store: fastifyRateLimitStore(), timeWindow: 0 })).rejects.toThrow(
    "rateLimit.timeWindow",
  )
  expect(() => fastifyRateLimitStore(memoryStore() as object)).toThrow(
    "fastifyRateLimitStore: takes options, not a store: write fastifyRateLimitStore({ store })",
  )
})
