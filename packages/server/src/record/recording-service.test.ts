import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest"
import { buildServer, killAll, run, start } from "../../../../test/support/service-process.js"
import { replay } from "../replay/index.js"

// Each test starts processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 })

let folder: string

beforeAll(buildServer, 60_000)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-recording-"))
})

afterEach(() => {
  killAll()
  rmSync(folder, { recursive: true })
})

const RULES =
  "version: 1\nrules: [{ id: all, keyBy: ip, limits: [{ algorithm: sliding-window-log, limit: 3, window: 1h }] }]\n"

it.each([1, 2])("records with %d processes, and a replay makes the same decisions", async (workers) => {
  const rules = join(folder, "rules.yaml")
  const file = join(folder, "decisions.log")
  writeFileSync(rules, RULES)
  const service = await start([`--rules.file=${rules}`, `--record.file=${file}`, `--workers=${workers}`])
  let denied = 0
  for (let i = 0; i < 24; i++) {
    const body = JSON.stringify({ method: "GET", path: `/items/${i}`, ip: `203.0.113.${i % 4}` })
    const answer = await fetch(`${service.url}/v1/check?status=429`, { method: "POST", body })
    if (answer.status === 429) denied++
  }
  service.child.kill("SIGTERM")
  expect(await service.ended).toEqual([0, null])
  const report = await replay([readFileSync(file)], { rules: [{ name: "same", ruleSet: RULES }] })
  expect(report).toMatchObject({ requests: 24, unreadable: { count: 0 } })
  expect([denied, report.candidates[0]?.denied]).toEqual([12, 12])
})

it("refuses to record a header that holds credentials", async () => {
  const config = join(folder, "sluice.config.yaml")
  writeFileSync(config, "record: { file: decisions.log, headers: [Authorization] }\n")
  const refused = run([`--config=${config}`])
  expect(await refused.ended).toEqual([1, null])
  expect(refused.stderr()).toMatch(/record\.headers\[0\].*a header that holds no credentials/s)
})
