// Leases of rules in a service on a real Redis: over HTTP, in the metrics and in the status.

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
  - id: tenant
    keyBy: user
    leases: { length: 30s }
    limits: [{ algorithm: fixed-window, limit: 400, window: 1h }]
`

it("answers checks of a busy key from leases, admits no more than the limit, and shows the calls saved", async () => {
  const redis = await startRedis()
  afterThis(() => redis.stop())
  const service = await startService(
    configSchema.parse({
      http: { port: 0 },
      grpc: { enabled: false },
      control: { port: 0, open: true },
      log: { level: "silent" },
      secret: "for tests",
      store: { url: `redis://127.0.0.1:${redis.port}` },
      rules: { inline: parseRuleSet(RULES) },
    }),
  )
  afterThis(() => service.close())
  const { http, control } = service.addresses
  const check = async () => {
    const answer = await fetch(`http://${http}/v1/check`, { method: "POST", body: '{"user":"ann"}' })
    return (await answer.json()) as { allowed: boolean; source?: string; degraded?: string }
  }
  // Before the first connection, decisions are local.
  await eventually(async () => (await check()).degraded === undefined)
  const checks = await Promise.all(Array.from({ length: 500 }, check))
  // A degraded check in the loop above is counted locally, and is not one of the 400.
  expect(checks.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(400)
  expect(checks.some(({ source }) => source === "lease")).toBe(true)

  const { leases } = (await (await fetch(`http://${control}/status`)).json()) as {
    leases: { answered: number; calls: number; spent: number }
  }
  expect(leases.answered).toBeGreaterThan(leases.calls)
  const metrics = await (await fetch(`http://${control}/metrics`)).text()
  expect(metrics).toContain(`sluice_lease_answered_total ${leases.answered}`)
  expect(metrics).toContain(`sluice_lease_units_total{use="spent"} ${leases.spent}`)
})
