import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { RuleRequest } from "sluice/rules"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { ask, askKey, type Core } from "../core.js"
import { type TestCore, testCore } from "../core.test-support.js"
import { replay } from "../replay/index.js"
import { createLog } from "../telemetry/log.js"
import { type OpenRecord, openRecord } from "./open-record.js"
import { RecordFile } from "./record-file.js"

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-record-"))
  file = join(folder, "decisions.log")
})

afterEach(() => rmSync(folder, { recursive: true }))

const RULES = `
version: 1
identity: { trustedProxies: [10.0.0.0/8], user: { header: x-user } }
rules:
  - { id: api, match: { path: /v1/** }, keyBy: apiKey, limits: [{ algorithm: sliding-window-log, limit: 3, window: 1m }] }
  - { id: all, keyBy: ip, limits: [{ algorithm: sliding-window-log, limit: 5, window: 1m }] }
`

const NOTHING = { maxBytes: 67_108_864, files: 8, headers: [] }

function recording(
  core: TestCore,
  settings: Partial<Parameters<typeof openRecord>[0]> = {},
): OpenRecord & { core: Core } {
  const log = createLog({ level: "silent" })
  const record = openRecord({ ...NOTHING, file, ...settings }, { ...core, log }) as OpenRecord
  return { ...record, core: { ...core, record: record.record } }
}

describe("the record of a service", () => {
  it("replays to the same decisions", async () => {
    const core = testCore(RULES)
    const record = recording(core)
    let denied = 0
    for (let i = 0; i < 200; i++) {
      const request: RuleRequest = {
        method: "GET",
        path: i % 2 === 0 ? `/v1/items/${i}?secret=1` : "/",
        ip: "10.0.0.1",
        headers: { "x-forwarded-for": `192.0.2.${i % 7}`, "x-api-key": `key-${i % 3}` },
      }
      const decision = await ask(record.core, "http", request, i % 10 === 0 ? { cost: 2 } : undefined)
      if (!decision.allowed) denied++
      core.clock.advance(i % 5 === 0 ? 2_500 : 0)
    }
    await record.close()
    const report = await replay([readFileSync(file)], { rules: [{ name: "same", ruleSet: RULES }] })
    expect(denied).toBeGreaterThan(20)
    expect(report).toMatchObject({ format: "record", requests: 200, unreadable: { count: 0 } })
    expect(report.candidates[0]).toMatchObject({ denied, allowed: 200 - denied })
    await core.close()
  })

  it("contains no API key, no query, no credential, and only configured headers", async () => {
    const core = testCore(RULES)
    const record = recording(core, { headers: ["User-Agent"] })
    await ask(record.core, "http", {
      method: "GET",
      path: "/v1/a?api_key=in-the-query",
      ip: "192.0.2.1",
      headers: {
        "x-api-key": "in-the-header",
        authorization: "Bearer in-the-bearer",
        cookie: "in-the-cookie",
        "user-agent": "curl",
      },
    })
    await record.close()
    const text = readFileSync(file, "utf8")
    expect(text).not.toMatch(/in-the-/)
    expect(JSON.parse(text.split("\n")[1] as string)).toEqual({
      t: core.clock.now(),
      m: "GET",
      p: "/v1/a",
      i: "192.0.2.1",
      k: core.engine.hashApiKey("in-the-header"),
      x: { "user-agent": "curl" },
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await core.close()
  })

  it("leaves out peeks, and checks by rule and key", async () => {
    const core = testCore(RULES)
    const record = recording(core)
    await ask(record.core, "http", { ip: "192.0.2.1" }, { cost: 0 })
    await askKey(record.core, "http", "all", "ip:192.0.2.1")
    await record.close()
    expect(existsSync(file)).toBe(false)
    expect(core.decided).toHaveLength(2)
    await core.close()
  })

  it("keeps the descriptors of Envoy", async () => {
    const rules =
      "version: 1\nrules: [{ id: d, match: { domain: shop, descriptor: [{ key: user }] }, keyBy: descriptor, limits: [{ limit: 1, window: 1m }] }]"
    const core = testCore(rules)
    const record = recording(core)
    const request = { domain: "shop", descriptors: [{ entries: [{ key: "user", value: "a" }] }] }
    for (let i = 0; i < 3; i++) await ask(record.core, "grpc", request)
    await record.close()
    const report = await replay([readFileSync(file)], { rules: [{ name: "same", ruleSet: rules }] })
    expect(report.candidates[0]?.rules).toMatchObject([{ id: "d", requests: 3, denied: 2 }])
    await core.close()
  })

  it("does not exist without a file", () => {
    const { engine } = testCore(RULES)
    expect(openRecord({ ...NOTHING, file: undefined }, { engine, log: createLog({ level: "silent" }) })).toBe(
      undefined,
    )
  })
})

describe("a record file", () => {
  const line = (writer: string, i: number) => `${writer} ${String(i).padStart(6, "0")} ${"x".repeat(90)}`
  const written = () =>
    readdirSync(folder).flatMap((name) =>
      readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean),
    )

  function writer(settings: Partial<ConstructorParameters<typeof RecordFile>[0]> = {}) {
    const errors: unknown[] = []
    const options = {
      file,
      maxBytes: 10_000,
      files: 4,
      header: "# head",
      onError: (e: unknown) => errors.push(e),
    }
    return { record: new RecordFile({ ...options, ...settings }), errors }
  }

  it("never exceeds its size limits, and keeps the newest lines", async () => {
    const { record } = writer()
    for (let i = 0; i < 2_000; i++) {
      record.write(line("a", i))
      if (i % 20 === 19) await record.flush()
    }
    await record.close()
    const names = readdirSync(folder).sort()
    expect(names).toEqual(["decisions.log", "decisions.log.1", "decisions.log.2", "decisions.log.3"])
    // A file is left when it is full, so it may be over by one write.
    for (const name of names) expect(statSync(join(folder, name)).size).toBeLessThan(10_000 + 20 * 120)
    for (const name of names) expect(readFileSync(join(folder, name), "utf8")).toMatch(/^# head\n/)
    expect(written()).toContain(line("a", 1_999))
    expect(written()).not.toContain(line("a", 0))
  })

  it("is written by several processes at once without a torn or lost line", async () => {
    const writers = [..."abcdefghijkl"].map((name) => ({
      name,
      ...writer({ maxBytes: 10_000, files: 1_000 }),
    }))
    for (let i = 0; i < 500; i++) {
      for (const { name, record } of writers) record.write(line(name, i))
      if (i % 10 === 9) await Promise.all(writers.map(({ record }) => record.flush()))
    }
    await Promise.all(writers.map(({ record }) => record.close()))
    const lines = written().filter((text) => text !== "# head")
    expect(readdirSync(folder).length).toBeGreaterThan(3)
    // Each was left because it was full, never because two had the same thought.
    const left = readdirSync(folder).filter((name) => name !== "decisions.log")
    for (const name of left) expect(statSync(join(folder, name)).size).toBeGreaterThanOrEqual(10_000)
    expect(new Set(lines).size).toBe(6_000)
    expect(lines).toHaveLength(6_000)
    expect(existsSync(`${file}.lock`)).toBe(false)
  })

  it("reports once that it cannot write, and continues when it can", async () => {
    rmSync(folder, { recursive: true })
    const { record, errors } = writer()
    for (let i = 0; i < 3; i++) {
      record.write(line("a", i))
      await record.flush()
    }
    expect(errors).toMatchObject([{ code: "ENOENT" }])
    expect(record.dropped).toBe(3)
    mkdirSync(folder)
    record.write(line("a", 3))
    await record.close()
    expect(written()).toEqual(["# head", line("a", 3)])
  })

  it("drops lines instead of holding more than a few megabytes", async () => {
    const { record } = writer({ maxBytes: 100_000_000 })
    const long = "x".repeat(100_000)
    for (let i = 0; i < 100; i++) record.write(long)
    expect(record.dropped).toBe(100 - Math.floor(4_194_304 / 100_001))
    await record.close()
    expect(statSync(file).size).toBeLessThan(4_300_000)
  })
})
