import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as after } from "node:timers/promises"
import type { LimitOptions } from "sluice"
import { afterAll, beforeAll, expect, it } from "vitest"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import { bundleLibrary } from "../redis/bundle.js"
import { eventually } from "../support/eventually.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { closeRoom, openRoom } from "../support/sandbox.js"
import { excess } from "./promises.js"

const PROCESSES = 8
const LENGTH = "100ms"
const RUN_MS = 5_000
const limits: readonly (LimitOptions & { name: string })[] = [
  { name: "bucket", algorithm: "token-bucket", limit: 1_000, window: "1s" },
  { name: "log", algorithm: "sliding-window-log", limit: 1_000, window: "1s" },
  { name: "counter", algorithm: "sliding-window-counter", limit: 1_000, window: "1s" },
  { name: "fixed", algorithm: "fixed-window", limit: 1_000, window: "1s" },
]

let server: RedisServer
let room: string
const fleet: ChildProcess[] = []

beforeAll(async () => {
  // What Redis has acknowledged survives its restart.
  server = await startRedis({ config: { appendonly: "yes", appendfsync: "always" } })
  room = openRoom("leases")
})

afterAll(async () => {
  for (const child of fleet) child.kill("SIGKILL")
  await server?.stop()
  closeRoom(room)
})

it("admits nothing beyond the promise when processes are killed and stopped, connections cut and Redis restarted", async () => {
  const sluice = await bundleLibrary(room)
  const logs = Array.from({ length: PROCESSES }, (_, i) => join(room, `${i}.log`))
  const { host, port } = server
  for (const log of logs) {
    const job = { sluice, host, port, limits, length: LENGTH, log, ms: RUN_MS }
    fleet.push(
      spawn(process.execPath, [join(import.meta.dirname, "fixtures/instance.mjs"), JSON.stringify(job)], {
        stdio: ["ignore", "ignore", "inherit"],
      }),
    )
  }
  const ended = fleet.map((child) => once(child, "exit"))
  await eventually(() => logs.every((log) => existsSync(log) && statSync(log).size > 0), {
    within: 30_000,
  })
  fleet[0]?.kill("SIGKILL")
  fleet[1]?.kill("SIGSTOP")
  await after(300)
  fleet[1]?.kill("SIGCONT")
  await after(RUN_MS / 10)
  await server.cli("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
  await after(RUN_MS / 10)
  await server.kill()
  await server.restart()
  await Promise.all(ended)

  const lines = logs.flatMap((log) => readFileSync(log, "utf8").trimEnd().split("\n"))
  const admissions = lines.map((line) => line.split(" "))
  const byLease = admissions.filter(([, , source]) => source === "lease").length
  limits.forEach((limit, index) => {
    const sorted = admissions
      .filter(([name]) => Number(name) === index)
      .map(([, at]) => ({ at: Number(at), units: 1 }))
      .sort((a, b) => a.at - b.at)
    const policy = compilePolicy(limit, "", { length: LENGTH })
    expect(sorted.length, `${limit.name}: admitted`).toBeGreaterThan(1_000)
    expect(excess(policy, sorted, []), `${limit.name}: admitted beyond the promise`).toBe(0)
  })
  process.stdout.write(
    `test/leases: ${PROCESSES} processes, ${admissions.length} admitted, ${byLease} by leases\n`,
  )
  // How many depends on how evenly a busy machine lets the processes run.
  expect(byLease).toBeGreaterThan(0)
})
