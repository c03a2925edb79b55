// The control plane on rules that are kept: in a file, and in Redis.

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { memoryStore } from "sluice"
import { openRedisClient } from "sluice/redis"
import { createRuleEngine, type EditableRuleSource, fileRules, redisRules } from "sluice/rules"
import { ManualClock } from "sluice/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { type RedisServer, startRedis } from "../../../../test/support/redis/single.js"
import type { TestCore } from "../core.test-support.js"
import { createWatch } from "../telemetry/hub.js"
import { startControl, type TestControl } from "./control-plane.test-support.js"

let folder: string
let audit: string
const closing: (() => unknown)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-control-"))
  audit = join(folder, "audit.jsonl")
})

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await rm(folder, { recursive: true, force: true })
})

function coreOn(rules: EditableRuleSource): TestCore {
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const engine = createRuleEngine({ rules, store, clock, secret: "for tests" })
  const watch = { decided: () => {} }
  closing.push(() => rules.close())
  return { engine, rules, store, watch, clock, decided: [], close: () => engine.close() }
}

async function controlOn(rules: EditableRuleSource): Promise<TestControl> {
  const control = await startControl({ audit }, coreOn(rules))
  closing.push(() => control.close())
  return control
}

describe("on a file", () => {
  const text = `# The shop.
version: 1
rules:
  - id: login # passwords
    limits: [{ limit: 5, window: 1m }]
`

  it("writes each change to the file before it answers, and keeps the comments of the file", async () => {
    const file = join(folder, "rules.yaml")
    await writeFile(file, text)
    const control = await controlOn(await fileRules(file))
    for (let limit = 6; limit < 10; limit++) {
      const body = { limits: [{ limit, window: "1m" }] }
      expect((await control.ask("PATCH", "/rules/login", { body })).status).toBe(200)
      expect(await readFile(file, "utf8")).toBe(text.replace("limit: 5", `limit: ${limit}`))
    }
    // As one that starts after a crash would find it.
    const other = await fileRules(file)
    closing.push(() => other.close())
    expect(other.current).toMatchObject({ revision: 5, etag: control.core.rules.current.etag })
  })

  it("answers 500 when the file cannot be written, and changes nothing", async () => {
    const file = join(folder, "gone", "rules.yaml")
    await mkdir(join(folder, "gone"))
    await writeFile(file, text)
    const control = await controlOn(await fileRules(file, { onEvent: () => {} }))
    await rm(join(folder, "gone"), { recursive: true })
    const { status, json } = await control.ask("PATCH", "/rules/login", { body: { mode: "off" } })
    expect([status, json.code]).toEqual([500, "RULES_IO"])
    expect(control.core.rules.current.document.rules[0]).not.toHaveProperty("mode")
    expect((await control.ask("GET", "/audit")).json).toEqual([])
    expect(control.errors.splice(0)).toHaveLength(1)
  })
})

describe("on Redis", () => {
  let redis: RedisServer

  beforeEach(async () => {
    redis = await startRedis()
    closing.push(() => redis.stop())
  })

  const initial = { version: 1, rules: [{ id: "login", limits: [{ limit: 5, window: "1m" }] }] }

  async function open(): Promise<TestControl> {
    const client = await openRedisClient(redis.url)
    closing.push(() => client.disconnect())
    return await controlOn(await redisRules(client, { initial, deadline: "500ms", onEvent: () => {} }))
  }

  it("accepts one of two changes to the same revision, and both services follow it", async () => {
    const [one, two] = [await open(), await open()]
    const ifMatch = await one.etag()
    expect(await two.etag()).toBe(ifMatch)
    const answers = await Promise.all(
      [one, two, one, two].map((control, i) =>
        control.ask("PATCH", "/rules/login", { body: { description: `by ${i}` }, ifMatch }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412])
    await eventually(async () => (await one.etag()) === (await two.etag()))
    expect(one.core.engine.revision).toBe(2)
    await eventually(() => two.core.engine.revision === 2)
  })

  it("answers 503 when Redis is away, and audits that the result is unknown", async () => {
    const control = await open()
    await redis.kill()
    const { status, json } = await control.ask("PATCH", "/rules/login", { body: { mode: "off" } })
    expect([status, json.code]).toEqual([503, "RULES_UNAVAILABLE"])
    const { json: entries } = await control.ask("GET", "/audit")
    expect(entries).toEqual([expect.objectContaining({ action: "PATCH /rules/:id", outcome: "unknown" })])
    expect((await control.ask("GET", "/rules")).json).toEqual(initial)
    expect((await control.ask("GET", "/livez")).status).toBe(200)
  })
})

describe("with the watch of the service", () => {
  it("shows what it counts: metrics, the busiest keys, live events", async () => {
    const file = join(folder, "rules.yaml")
    await writeFile(file, "version: 1\nrules:\n  - { id: login, limits: [{ limit: 1, window: 1m }] }\n")
    const core = coreOn(await fileRules(file))
    const watch = createWatch()
    closing.push(() => watch.close())
    watch.attach({ store: core.store, rules: core.rules })
    const control = await startControl({ watch }, core)
    closing.push(() => control.close())
    const stream = await fetch(`${control.url}/events`)
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let i = 0; i < 3; i++) {
      const decision = await core.engine.check({ path: "/", ip: "192.0.2.1" })
      watch.decided({ decision, protocol: "http", durationMs: 1 })
    }
    watch.tick()
    let heard = ""
    while (!heard.includes("event: decisions")) heard += (await reader?.read())?.value ?? ""
    await reader?.cancel()
    expect(heard).toContain('"id":"login","allowed":1,"denied":2')
    const { json } = await control.ask("GET", "/top?by=denied&limit=1")
    expect(json).toEqual([{ rule: "login", key: "ip:192.0.2.1", count: 2, error: 0 }])
    expect((await control.ask("GET", "/metrics")).text).toMatch(/^sluice_\w+\{.*login.*\} 2$/m)
  })
})
