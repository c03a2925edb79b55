import { importEnvoyConfig } from "sluice/rules"
import { ManualClock } from "sluice/testing"
import { afterEach, expect, it } from "vitest"
import { stringify } from "yaml"
import { startEnvoy } from "../../packages/server/src/envoy/index.js"
import { openCore, portOf } from "../service/bed.js"
import { ask, startApplication } from "../service/proxy.js"
import { eventually } from "../support/eventually.js"
import { type RateLimitActions, startEnvoyProxy } from "./envoy.js"

const closers: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** client → Envoy → application, and Envoy asks Sluice. */
async function start(rules: string, rateLimits: readonly RateLimitActions[]) {
  const clock = new ManualClock()
  const { core, decided, close } = openCore(rules, clock)
  closers.push(close)
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const sluice = await startEnvoy(core, { host: "127.0.0.1", port: 0, onError })
  closers.push(() => sluice.close(0))
  const application = await startApplication()
  closers.push(() => application.close())
  const ports = { sluice: portOf(sluice.address), application: application.port }
  const proxy = await startEnvoyProxy(ports, rateLimits)
  closers.push(() => proxy.stop())
  const get = (path: string, headers: Record<string, string> = {}) => ask(proxy.port, { path, headers })
  const statusesOf = async (user: string, times: number) => {
    const statuses: number[] = []
    for (let i = 0; i < times; i++) statuses.push((await get("/items", { "x-user": user })).status)
    return statuses
  }
  // Envoy lets everything pass until it has seen that the rate limit service is there.
  await eventually(async () => (await get("/warm-up", { "x-user": "nobody" })) && decided.length > 0)
  return { clock, decided, errors, sluice, application, get, statusesOf }
}

const byUser = { actions: [{ request_headers: { header_name: "x-user", descriptor_key: "user" } }] }

const RULES = `
version: 1
rules:
  - id: per-user
    match: { domain: edge, descriptor: [{ key: user }] }
    keyBy: descriptor
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
`

it("limits what passes through Envoy per user, with Envoy's own headers made of our numbers", async () => {
  const { clock, errors, application, get, statusesOf } = await start(RULES, [byUser])
  expect(await statusesOf("ann", 3)).toEqual([200, 200, 429])
  expect((await get("/items", { "x-user": "bob" })).status).toBe(200)
  const denied = await get("/items", { "x-user": "ann" })
  expect(denied.headers["x-envoy-ratelimited"]).toBe("true")
  expect(denied.headers["x-ratelimit-limit"]).toMatch(/^2, 2;w=60/)
  expect(denied.headers["x-ratelimit-remaining"]).toBe("0")
  expect(Number(denied.headers["x-ratelimit-reset"])).toBeGreaterThan(0)
  expect(Number(denied.headers["x-ratelimit-reset"])).toBeLessThanOrEqual(60)
  expect(application.seen.filter(({ url }) => url === "/items")).toHaveLength(3)
  clock.advance(60_000)
  expect((await get("/items", { "x-user": "ann" })).status).toBe(200)
  expect(errors).toEqual([])
})

it("charges what Envoy says a request costs", async () => {
  const costly = { ...byUser, hits_addend: { number: 4 } }
  const { statusesOf } = await start(RULES.replace("limit: 2", "limit: 10"), [costly])
  expect(await statusesOf("ann", 3)).toEqual([200, 200, 429])
})

it("decides by an imported configuration of envoyproxy/ratelimit: nested, with a value of its own, and unlimited", async () => {
  const { document } = importEnvoyConfig(`
domain: edge
descriptors:
  - key: generic_key
    value: api
    descriptors:
      - key: user
        rate_limit: { unit: minute, requests_per_unit: 2 }
      - key: user
        value: vip
        rate_limit: { unlimited: true }
      - key: user
        value: slow
        rate_limit: { unit: hour, requests_per_unit: 1 }
`)
  const nested = { actions: [{ generic_key: { descriptor_value: "api" } }, ...byUser.actions] }
  const { statusesOf } = await start(stringify(document), [nested])
  expect(await statusesOf("ann", 4)).toEqual([200, 200, 429, 429])
  expect(await statusesOf("vip", 4)).toEqual([200, 200, 200, 200])
  expect(await statusesOf("slow", 4)).toEqual([200, 429, 429, 429])
})

it("is left out by Envoy's health check while it says that it does not serve, and asked again after", async () => {
  const { sluice, decided, get } = await start(RULES, [byUser])
  sluice.setServing(false)
  await eventually(async () => {
    const before = decided.length
    return (await get("/items", { "x-user": "ann" })).status === 200 && decided.length === before
  })
  sluice.setServing(true)
  await eventually(async () => {
    const before = decided.length
    await get("/items", { "x-user": "ann" })
    return decided.length > before
  })
})

it("lets requests pass when the service has gone, as the filter is told to", async () => {
  const { sluice, get } = await start(RULES, [byUser])
  await sluice.close(0)
  for (let i = 0; i < 5; i++) expect((await get("/items", { "x-user": "ann" })).status).toBe(200)
})
