// Holds over HTTP in services that share one Redis: a hold belongs to no instance.

import { parseRuleSet } from "sluice/rules"
import { expect, it } from "vitest"
import { configSchema } from "../../packages/server/src/config/schema.js"
import { startService } from "../../packages/server/src/service/service.js"
import { afterThis } from "../support/after-this.js"
import { eventually } from "../support/eventually.js"
import { startRedis } from "../support/redis/single.js"

const RULES = `
version: 1
rules:
  - id: calls
    keyBy: user
    limits:
      - { algorithm: concurrency, limit: 3, hold: 1h }
      - { algorithm: fixed-window, limit: 1000, window: 1h }
`

async function startOn(port: number) {
  const service = await startService(
    configSchema.parse({
      http: { port: 0 },
      grpc: { enabled: false },
      control: { port: 0, open: true },
      log: { level: "silent" },
      secret: "for tests",
      store: { url: `redis://127.0.0.1:${port}` },
      rules: { inline: parseRuleSet(RULES) },
    }),
  )
  afterThis(() => service.close())
  const post = async (path: string, body: object) => {
    const url = `http://${service.addresses.http}${path}`
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) })
    return (await answer.json()) as Record<string, unknown>
  }
  // Before the first connection, decisions are local.
  await eventually(async () => (await post("/v1/peek", { user: "nobody" })).degraded === undefined)
  const metrics = async () => await (await fetch(`http://${service.addresses.control}/metrics`)).text()
  return { post, metrics }
}

it("what one instance has acquired, another extends and releases, and all together hold no more than the limit", async () => {
  const redis = await startRedis()
  afterThis(() => redis.stop())
  const services = await Promise.all([startOn(redis.port), startOn(redis.port)])
  const [{ post: first }, { post: second }] = services
  const acquired = await Promise.all(
    Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? first : second)("/v1/acquire", { user: "ann" })),
  )
  const holds = acquired.filter(({ allowed }) => allowed).map(({ hold }) => hold)
  expect(holds.length).toBe(3)
  expect(await second("/v1/extend", { hold: holds[0] })).toEqual({ extended: true })
  for (const hold of holds) expect(await second("/v1/release", { hold })).toEqual({ released: true })
  for (const hold of holds) expect(await first("/v1/release", { hold })).toEqual({ released: false })
  const large = await first("/v1/acquire", { user: "ann", cost: 3 })
  expect(large.allowed).toBe(true)
  expect(await second("/v1/extend", { hold: large.hold })).toEqual({ extended: true })
  expect(await second("/v1/release", { hold: large.hold })).toEqual({ released: true })
  expect(await first("/v1/peek", { user: "ann" })).toMatchObject({ remaining: 3 })
  const all = (await Promise.all(services.map(({ metrics }) => metrics()))).join("\n")
  const total = (what: string) =>
    [...all.matchAll(new RegExp(`^sluice_holds_${what}_total{rule="calls"} (\\d+)$`, "gm"))].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
  expect(["acquired", "released", "late"].map(total)).toEqual([4, 4, 3])
})
