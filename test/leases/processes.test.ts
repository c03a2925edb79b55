import { setTimeout as after } from "node:timers/promises"
import { expect, it } from "vitest"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import { afterThis } from "../support/after-this.js"
import { startRedis } from "../support/redis/single.js"
import { type FleetOptions, startFleet } from "./fleet.js"
import { excess } from "./promises.js"

const PROCESSES = 8
const LENGTH = "100ms"
const RUN_MS = 5_000
const limits: FleetOptions["limits"] = [
  { name: "bucket", algorithm: "token-bucket", limit: 1_000, window: "1s" },
  { name: "log", algorithm: "sliding-window-log", limit: 1_000, window: "1s" },
  { name: "counter", algorithm: "sliding-window-counter", limit: 1_000, window: "1s" },
  { name: "fixed", algorithm: "fixed-window", limit: 1_000, window: "1s" },
]

it("admits nothing beyond the promise when processes are killed and stopped, connections cut and Redis restarted", async () => {
  // What Redis has acknowledged survives its restart.
  const server = await startRedis({ config: { appendonly: "yes", appendfsync: "always" } })
  afterThis(() => server.stop())
  const { url } = server
  const fleet = await startFleet({
    processes: PROCESSES,
    url,
    limits,
    length: LENGTH,
    ms: RUN_MS,
    atOnce: 3,
    everyMs: 2,
  })
  const [killed, stopped] = fleet.processes
  killed?.kill("SIGKILL")
  stopped?.kill("SIGSTOP")
  await after(300)
  stopped?.kill("SIGCONT")
  await after(RUN_MS / 10)
  await server.cli("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
  await after(RUN_MS / 10)
  await server.kill()
  await server.restart()
  await fleet.ended

  let all = 0
  for (const [index, limit] of limits.entries()) {
    const admitted = fleet.admissions(index)
    all += admitted.length
    const policy = compilePolicy(limit, "", { length: LENGTH })
    expect(admitted.length, `${limit.name}: admitted`).toBeGreaterThan(1_000)
    expect(excess(policy, admitted, []), `${limit.name}: admitted beyond the promise`).toBe(0)
  }
  const byLease = fleet.byLease()
  process.stdout.write(`test/leases: ${PROCESSES} processes, ${all} admitted, ${byLease} by leases\n`)
  // How many depends on how evenly a busy machine lets the processes run.
  expect(byLease).toBeGreaterThan(0)
})
