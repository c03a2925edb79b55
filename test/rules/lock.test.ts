// Processes die while they hold the lock of a rule file, and others race for it: they get it one after the other.

import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"
import { afterAll, beforeAll, expect, it } from "vitest"
import { closeRoom, openRoom } from "../support/sandbox.js"
import type { Said, Told } from "./fixtures/racer.js"

/** Five thousand of each with SLUICE_RACES=5000. A save waits for the disk, so that there are few of them by default. */
const ROUNDS = Number(process.env.SLUICE_RACES ?? 100)
const SAVES = Number(process.env.SLUICE_RACES ?? 10)
const RACERS = 4
/** Locks that one process leaves when it dies. */
const FILES = 10
const TEXT = "version: 1\nrules:\n  - id: start\n    limits: [{ limit: 1, window: 1m }]\n"

let room: string
const processes = new Set<ChildProcess>()

beforeAll(async () => {
  room = openRoom("lock")
  await build({
    input: fileURLToPath(new URL("./fixtures/racer.ts", import.meta.url)),
    platform: "node",
    output: { file: join(room, "racer.mjs"), codeSplitting: false },
    logLevel: "silent",
  })
}, 30_000)

afterAll(() => {
  for (const child of processes) child.kill("SIGKILL")
  closeRoom(room)
})

async function startProcess(): Promise<ChildProcess> {
  const child = fork(join(room, "racer.mjs"), { execArgv: [] })
  processes.add(child)
  child.once("exit", () => processes.delete(child))
  await once(child, "message")
  return child
}

/** A process that leaves its locks behind. */
async function crashWith(locks: readonly string[]): Promise<void> {
  const child = await startProcess()
  const dead = once(child, "exit")
  child.send({ crash: locks } satisfies Told)
  await dead
}

/** Sends all of them the same command at the same moment. */
async function race(racers: readonly ChildProcess[], told: Told): Promise<(number | string)[]> {
  const said = racers.map((racer) => once(racer, "message") as Promise<[Said]>)
  for (const racer of racers) racer.send(told)
  const results = (await Promise.all(said)).map(([each]) =>
    "result" in each ? each.result : "error" in each ? each.error : "nothing",
  )
  const numbers = results.filter((result) => typeof result === "number").sort((a, b) => a - b)
  return [...numbers, ...results.filter((result) => typeof result === "string")]
}

/** Runs rounds, each with the lock of a dead process. Returns the problems. */
async function rounds(
  count: number,
  lockOf: (file: string) => string,
  round: (file: string, number: number) => Promise<string | undefined>,
): Promise<string[]> {
  const wrong: string[] = []
  const files = Array.from({ length: FILES }, (_, i) => `file-${i}`)
  for (let number = 0; number * FILES < count; number++) {
    await crashWith(files.map(lockOf))
    for (const file of files) {
      const problem = await round(file, number)
      if (problem !== undefined) wrong.push(`${file}, ${number}: ${problem}`)
    }
  }
  return wrong
}

it(`lets ${RACERS} processes in one after the other, ${ROUNDS} times over the lock of one that died`, {
  timeout: 60_000 + 500 * ROUNDS,
}, async () => {
  const folder = join(room, "lock")
  mkdirSync(folder)
  for (let i = 0; i < FILES; i++) writeFileSync(join(folder, `file-${i}`), "0")
  const racers = await Promise.all(Array.from({ length: RACERS }, startProcess))
  const wrong = await rounds(
    ROUNDS,
    (file) => join(folder, `${file}.lock`),
    async (file, number) => {
      const counted = await race(racers, { count: join(folder, file) })
      const right = Array.from({ length: RACERS }, (_, i) => number * RACERS + i + 1)
      return counted.join() === right.join() ? undefined : counted.join()
    },
  )
  expect(wrong).toEqual([])
  // Nothing is left of all the locks, claims and drafts.
  expect(readdirSync(folder)).toHaveLength(FILES)
})

it(`acknowledges one of ${RACERS} saves on the same revision, ${SAVES} times over the lock of one that died`, {
  timeout: 60_000 + 5_000 * SAVES,
}, async () => {
  const folder = join(room, "rules")
  mkdirSync(folder)
  for (let i = 0; i < FILES; i++) writeFileSync(join(folder, `file-${i}`), TEXT)
  const racers = await Promise.all(Array.from({ length: RACERS }, startProcess))
  const wrong = await rounds(
    SAVES,
    (file) => join(folder, `.${file}.lock`),
    async (file, number) => {
      const saved = await race(racers, { save: join(folder, file), expected: number + 1 })
      const right = [number + 2, ...Array.from({ length: RACERS - 1 }, () => "RULES_CONFLICT")]
      return saved.join() === right.join() ? undefined : saved.join()
    },
  )
  expect(wrong).toEqual([])
  for (let i = 0; i < FILES; i++) {
    const journal = readFileSync(join(folder, `.file-${i}.revisions.jsonl`), "utf8")
    const numbers = journal.match(/"done":\d+/g) ?? []
    expect(new Set(numbers).size).toBe(numbers.length)
  }
  expect(readdirSync(folder)).toHaveLength(2 * FILES)
})
