import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { build } from "rolldown"
import type { RuleSetRevision } from "sluice/rules"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { runProcesses } from "../support/process-pool.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { closeRoom, openRoom } from "../support/sandbox.js"
import { setWith } from "./rule-sets.js"

const PROCESSES = 4
const SAVES = 10

interface Report {
  readonly first: string
  readonly last: RuleSetRevision
  readonly saved: readonly number[]
  readonly heard: readonly number[]
  readonly conflicts: number
}

const rules = fileURLToPath(new URL("../../packages/sluice/src/rules/index.ts", import.meta.url))
let room: string
let server: RedisServer

beforeAll(async () => {
  room = openRoom("processes")
  server = await startRedis()
})
afterAll(async () => {
  await server.stop()
  closeRoom(room)
})

/** Plain JavaScript, for a process of plain Node. */
async function bundle(input: string, name: string): Promise<string> {
  const file = join(room, name)
  await build({
    input,
    platform: "node",
    resolve: { alias: { "sluice/rules": rules } },
    output: { file, codeSplitting: false },
    logLevel: "silent",
  })
  return file
}

describe(`${PROCESSES} processes that save at once`, () => {
  it("start from one set, lose no save, and end with the same revision", { timeout: 60_000 }, async () => {
    const module = await bundle(rules, "rules.mjs")
    const { host, port } = server
    const jobs = Array.from({ length: PROCESSES }, (_, number) => {
      return { rules: module, host, port, number, saves: SAVES, processes: PROCESSES }
    })
    const script = new URL("./fixtures/follower.mjs", import.meta.url)
    const reports = await runProcesses<Report>({ script, jobs, timeoutMs: 40_000 })
    expect(new Set(reports.map(({ first }) => first)).size).toBe(1)
    const numbers = reports.flatMap(({ saved }) => saved).sort((a, b) => a - b)
    expect(numbers).toEqual(Array.from({ length: PROCESSES * SAVES }, (_, i) => i + 2))
    expect(new Set(reports.map(({ last }) => `${last.revision} ${last.etag}`)).size).toBe(1)
    for (const { heard } of reports) {
      expect(heard.every((revision, i) => i === 0 || revision > (heard[i - 1] as number))).toBe(true)
      expect(heard.at(-1)).toBe(1 + PROCESSES * SAVES)
    }
    // Otherwise they never met.
    expect(reports.reduce((sum, { conflicts }) => sum + conflicts, 0)).toBeGreaterThan(0)
  })
})

describe("a process with rules that were never closed", () => {
  it("ends by itself", async () => {
    const script = await bundle(fileURLToPath(new URL("./fixtures/leaver.ts", import.meta.url)), "leaver.mjs")
    const path = join(room, "rules.json")
    writeFileSync(path, JSON.stringify(setWith(5)))
    const { stdout } = await promisify(execFile)(process.execPath, [script, path], { timeout: 55_000 })
    expect(stdout).toBe("revision 1\n")
  })
})
