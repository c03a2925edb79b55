// kill -9 in the middle of a save: the file is never bad, and no save that was acknowledged is ever lost.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"
import { type EditableRuleSource, fileRules } from "sluice/rules"
import { afterAll, beforeAll, expect, it } from "vitest"
import { closeRoom, openRoom } from "../support/sandbox.js"
import { setWith } from "./rule-sets.js"

/** A thousand with SLUICE_KILLS=1000. */
const KILLS = Number(process.env.SLUICE_KILLS ?? 50)
/** Files at once: most of the time a process is only starting. */
const FILES = 5
const HISTORY = 20
const HISTORY_FILES = [".rules.yaml.revisions.jsonl", ".rules.yaml.revisions.jsonl.1"]
const TEXT = `# Kept.
version: 1
rules:
  - id: login
    limits:
      - limit: 1 # kept
        window: 1m
`

/** Where kills fell: before a save that was done had been answered, and within one. */
interface Kills {
  unanswered: number
  unfinished: number
}

const fromSources = (path: string) =>
  fileURLToPath(new URL(`../../packages/sluice/src/${path}`, import.meta.url))
let room: string
let script: string

beforeAll(async () => {
  room = openRoom("kills")
  script = join(room, "saver.mjs")
  await build({
    input: fileURLToPath(new URL("./fixtures/saver.ts", import.meta.url)),
    platform: "node",
    resolve: { alias: { "sluice/rules": fromSources("rules/index.ts") } },
    output: { file: script, codeSplitting: false },
    logLevel: "silent",
  })
}, 30_000)
afterAll(() => closeRoom(room))

/** Lets a process save until it is killed, some time after its first save. Returns the last revision it acknowledged. */
async function saveAndKill(path: string, ms: number): Promise<number> {
  const child = spawn(process.execPath, [script, path], { stdio: ["ignore", "pipe", "pipe"] })
  let said = ""
  let complaint = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint += text
  })
  const begun = new Promise<void>((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text
      resolve()
    })
  })
  const closed = once(child, "close")
  await Promise.race([begun, closed])
  setTimeout(() => child.kill("SIGKILL"), ms)
  await closed
  expect(complaint).toBe("")
  return Number(said.trimEnd().split("\n").at(-1))
}

async function killOften(folder: string, times: number, kills: Kills): Promise<void> {
  mkdirSync(folder)
  const path = join(folder, "rules.yaml")
  writeFileSync(path, TEXT)
  for (let kill = 0; kill < times; kill++) {
    // Some ten saves long, and any fraction of one.
    const acknowledged = await saveAndKill(path, Math.random() * 40)
    if (isWithinSave(folder)) kills.unfinished++
    const source = await fileRules(path, { history: HISTORY })
    if (source.current.revision > acknowledged) kills.unanswered++
    await expectWhole(source, acknowledged)
    expect(readFileSync(path, "utf8")).toBe(TEXT.replace("limit: 1", `limit: ${source.current.revision}`))
    await source.close()
    expect(readdirSync(folder).filter((name) => !HISTORY_FILES.includes(name))).toEqual(["rules.yaml"])
  }
}

/** Whether the last line of the history is not that of a finished save. Without a current file, a save has just rotated it. */
function isWithinSave(folder: string): boolean {
  const file = join(folder, HISTORY_FILES[0] as string)
  return !existsSync(file) || !/\{"done":\d+\}\n$/.test(readFileSync(file, "utf8"))
}

/** The saver gives each revision a limit of the same number. */
async function expectWhole(source: EditableRuleSource, acknowledged: number): Promise<void> {
  const { revision, changedBy, document } = source.current
  expect(revision).toBeGreaterThanOrEqual(acknowledged)
  // At most one save was in progress.
  expect(revision).toBeLessThanOrEqual(acknowledged + 1)
  expect(document).toEqual(setWith(revision))
  expect(changedBy).toBe(revision === 1 ? "file" : "saver")
  const kept = (await source.revisions()).map((info) => info.revision)
  expect(kept).toEqual(Array.from({ length: Math.min(HISTORY, revision) }, (_, i) => revision - i))
  for (const number of kept) expect((await source.revision(number))?.document).toEqual(setWith(number))
}

it(`${KILLS} kills leave a good file, and every acknowledged revision`, {
  timeout: 30_000 + 1_000 * KILLS,
}, async () => {
  const kills: Kills = { unanswered: 0, unfinished: 0 }
  const each = Math.ceil(KILLS / FILES)
  await Promise.all(Array.from({ length: FILES }, (_, i) => killOften(join(room, `file ${i}`), each, kills)))
  const { unanswered, unfinished } = kills
  process.stdout.write(
    `${each * FILES} kills: ${unfinished} within a save, ${unanswered} before its answer\n`,
  )
  // A test that never hits a save proves nothing.
  expect(unfinished).toBeGreaterThan(0)
})
