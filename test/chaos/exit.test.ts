import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { closeRoom, openRoom } from "../support/sandbox.js"
import { type Bed, openBed } from "./bed.js"

const sources = fileURLToPath(new URL("../../packages/sluice/src", import.meta.url))

/** The process runs plain Node, so the library and its imports are bundled as JavaScript first. */
let room: string
let script: string
let bed: Bed
let child: ChildProcess

beforeAll(async () => {
  room = openRoom("leaver")
  script = join(room, "leaver.mjs")
  await build({
    input: fileURLToPath(new URL("./fixtures/leaver.ts", import.meta.url)),
    platform: "node",
    resolve: {
      alias: { "sluice/redis": join(sources, "stores/redis/index.ts"), sluice: join(sources, "index.ts") },
    },
    output: { file: script, codeSplitting: false },
    logLevel: "silent",
  })
})
afterAll(() => closeRoom(room))

beforeEach(async () => {
  bed = await openBed()
})
afterEach(async () => {
  child.kill("SIGKILL")
  await bed.stop()
})

const states: { name: string; strike: () => Promise<void>; says: string }[] = [
  { name: "is well", strike: async () => undefined, says: "shared" },
  { name: "is dead", strike: () => bed.redis.kill(), says: "local" },
  { name: "is frozen", strike: () => bed.redis.pause(), says: "local" },
  { name: "has lost the connection without a word", strike: async () => bed.proxy.halfOpen(), says: "local" },
]

describe("a process that closes its store ends by itself, with no timer and no socket left, when Redis", () => {
  it.each(states)("$name", { timeout: 30_000 }, async ({ strike, says }) => {
    child = fork(script, [bed.proxy.url], { stdio: ["ignore", "pipe", "pipe", "ipc"] })
    const said: unknown[] = []
    let printed = ""
    child.on("message", (message) => void said.push(message))
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        printed += text
      })
    await eventually(() => said.includes("shared"), { within: 10_000, what: "the process asks Redis" })
    await strike()
    await eventually(() => said.at(-1) === says, { what: `the process says ${says}` })
    const ended = once(child, "close")
    child.send("leave")
    const [code, signal] = await eventually(() => ended, { within: 10_000, what: "the process ends" })
    expect({ code, signal, printed }).toEqual({ code: 0, signal: null, printed: "" })
  })
})
