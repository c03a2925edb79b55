import { fork } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"
import { afterAll, beforeAll, describe, it } from "vitest"
import { eventually } from "./eventually.js"
import { isAlive } from "./process-state.js"
import { closeRoom, openRoom } from "./sandbox.js"
import { toolPath } from "./tool.js"

const here = dirname(fileURLToPath(import.meta.url))

/** The process that dies is plain Node, so what it imports is made plain JavaScript first. */
let room: string
let supportModule: string

beforeAll(async () => {
  room = openRoom("bundle")
  supportModule = join(room, "single.mjs")
  await build({
    input: join(here, "redis/single.ts"),
    platform: "node",
    output: { file: supportModule, codeSplitting: false },
    logLevel: "silent",
  })
})
afterAll(() => closeRoom(room))

describe("a process that ends without stopping its servers leaves neither them nor their directories", () => {
  it.each(["exit", "return", "throw", "SIGTERM", "SIGKILL"])("when it ends by %s", async (ending) => {
    const child = fork(join(here, "fixtures/abandon-server.mjs"), [supportModule, ending], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // The bundle lies outside the repository, so it cannot look the tool up itself.
      env: { ...process.env, SLUICE_REDIS_SERVER: toolPath("redis-server") },
    })
    const ended = once(child, "exit")
    const started = once(child, "message") as Promise<[{ pid: number; dir: string }]>
    const [{ pid, dir }] = await Promise.race([started, ended.then(diedEarly)])
    if (ending === "SIGTERM" || ending === "SIGKILL") child.kill(ending)
    await ended
    await eventually(() => !isAlive(pid), { what: "the server is gone" })
    await eventually(() => !existsSync(dirname(dir)), { what: "the directory is gone" })
  })
})

function diedEarly(): never {
  throw new Error("the process ended before its server ran")
}
