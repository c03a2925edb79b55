import plugin from "@fastify/rate-limit"
import fastify, { type FastifyInstance } from "fastify"
import { afterEach, expect, it } from "vitest"
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

it("refuses options that would extend a window", async () => {
  const settings = { store: fastifyRateLimitStore(), continueExceeding: true }
  await expect(serve(settings)).rejects.toMatchObject({ code: "OPTION_CONFLICT", place: "continueExceeding" })
})
