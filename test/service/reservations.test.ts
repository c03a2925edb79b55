// Reservations over HTTP in services that share one Redis: whoever has made a reservation, every instance settles it, once.

import { parseRuleSet } from "sluice/rules"
import { afterEach, beforeAll, expect, it } from "vitest"
import { configSchema } from "../../packages/server/src/config/schema.js"
import { startService } from "../../packages/server/src/service/service.js"
import { afterThis } from "../support/after-this.js"
import { eventually } from "../support/eventually.js"
import { startRedis } from "../support/redis/single.js"
import { buildServer, killAll, start } from "../support/service-process.js"

const RULES = JSON.stringify({
  version: 1,
  rules: [
    {
      id: "tokens",
      keyBy: "user",
      limits: [{ algorithm: "sliding-window-log", limit: 10_000, window: "1h" }],
      cost: { responseHeader: "x-tokens" },
    },
    { id: "requests", keyBy: "ip", limits: [{ algorithm: "fixed-window", limit: 1_000, window: "1d" }] },
    { id: "calls", keyBy: "user", limits: [{ algorithm: "concurrency", limit: 50, hold: "1h" }] },
  ],
})
const ANN = { user: "ann", ip: "192.0.2.1" }

beforeAll(buildServer, 60_000)
afterEach(killAll)

function poster(url: string) {
  return async (path: string, body: object) => {
    const answer = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) })
    return { status: answer.status, json: (await answer.json()) as Record<string, never> }
  }
}

it("an instance that is killed with -9 leaves reservations that another one settles, each once", async () => {
  const redis = await startRedis()
  afterThis(() => redis.stop())
  const store = `redis://127.0.0.1:${redis.port}`
  // Without a configured secret: the instances find a common one in Redis.
  const service = await startService(
    configSchema.parse({
      http: { port: 0 },
      grpc: { enabled: false },
      control: { port: 0, open: true },
      log: { level: "silent" },
      store: { url: store },
      rules: { inline: parseRuleSet(RULES) },
    }),
  )
  afterThis(() => service.close())
  const process = await start([], {
    SLUICE_STORE__URL: store,
    SLUICE_RULES__INLINE: RULES,
    SLUICE_GRPC__ENABLED: "false",
  })
  const [first, second] = [poster(process.url), poster(`http://${service.addresses.http}`)]
  for (const post of [first, second])
    await eventually(async () => (await post("/v1/peek", ANN)).json.degraded === undefined)

  const made = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? first : second)("/v1/reserve", { ...ANN, cost: 100 }),
    ),
  )
  const reservations = made.map(({ json }) => json.reservation)
  expect(made.map(({ json }) => json.allowed)).toEqual(reservations.map(() => true))
  process.child.kill("SIGKILL")
  await process.ended

  const remaining = async () => {
    const { rules } = (await second("/v1/peek", ANN)).json as unknown as {
      rules: { limits: { remaining: number }[] }[]
    }
    return rules.map(({ limits }) => limits[0]?.remaining)
  }
  expect(await remaining()).toEqual([8_000, 980, 30])
  // Each is settled three times at once. The last two are left alone.
  const settled = await Promise.all(
    reservations
      .slice(0, 18)
      .flatMap((reservation) => [0, 1, 2].map(() => second("/v1/settle", { reservation, cost: 60 }))),
  )
  expect([...new Set(settled.map(({ status, json }) => `${status} ${JSON.stringify(json)}`))]).toEqual([
    '200 {"settled":true}',
  ])
  expect(await remaining()).toEqual([10_000 - 18 * 60 - 2 * 100, 980, 48])
  const metrics = await (await fetch(`http://${service.addresses.control}/metrics`)).text()
  expect(metrics).toContain("sluice_reservation_made_total 10\n")
  expect(metrics).toContain('sluice_reservation_settled_total{result="settled"} 18\n')
  expect(metrics).toContain('sluice_reservation_settled_total{result="repeated"} 36\n')
})
