import { expect, it } from "vitest"
import { deciding } from "./decisions.test-support.js"
import { createWatch } from "./hub.js"
import { createLog } from "./log.js"

const RULES = `version: 1
rules:
  - { id: api, keyBy: apiKey, limits: [{ limit: 1, window: 1m }] }
`

function logged() {
  const lines: string[] = []
  const log = createLog({ level: "info", destination: { write: (line) => void lines.push(line) } })
  return { lines, log }
}

it("logs a limited number of denials each second, and then how many it left out", () => {
  const { lines, log } = logged()
  const { decide } = deciding(RULES)
  const hub = createWatch({ log, denialsPerSecond: 2 })
  for (let i = 0; i < 6; i++) hub.decided(decide({ apiKey: "k", ip: "203.0.113.1" }))
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "info", msg: "denied", rule: "api", reason: "limit", protocol: "http" },
    { msg: "denied" },
  ])
  hub.tick()
  hub.decided(decide({ apiKey: "k", ip: "203.0.113.1" }))
  expect(lines.slice(2).map((line) => JSON.parse(line))).toMatchObject([
    { msg: "some denials were not logged", skipped: 3 },
    { msg: "denied" },
  ])
  hub.close()
})

it("logs waits in whole milliseconds, rounded up", () => {
  const { lines, log } = logged()
  const { decide } = deciding(
    "version: 1\nrules: [{ id: api, limits: [{ limit: 3, window: 1s, algorithm: gcra }] }]",
  )
  const hub = createWatch({ log })
  for (let i = 0; i < 4; i++) hub.decided(decide({ ip: "203.0.113.1" }))
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ msg: "denied", retryAfterMs: 334 }])
  hub.close()
})

it("writes no API key, no query and no second line, whatever a client sends", () => {
  const { lines, log } = logged()
  const { decide } = deciding(RULES)
  const hub = createWatch({ log })
  const request = {
    apiKey: "sk_live_1",
    ip: "203.0.113.1",
    method: 'GET\r\n{"level":"fatal"}',
    path: "/a\u001b[31m\u2028?token=hunter2",
  }
  for (let i = 0; i < 2; i++) hub.decided(decide(request))
  hub.close()
  const text = lines.join("")
  expect(lines.length).toBeGreaterThan(0)
  expect(text).not.toMatch(/sk_live_1|hunter2/)
  expect(text).not.toContain("\u001b")
  for (const line of lines) expect(line.trimEnd().split(/\r|\n/)).toHaveLength(1)
})

it("redacts fields with the name of a secret", () => {
  const { lines, log } = logged()
  log.info({ secret: "hunter2", config: { password: "hunter2" }, headers: { cookie: "hunter2" } }, "started")
  expect(lines.join("")).not.toContain("hunter2")
})
