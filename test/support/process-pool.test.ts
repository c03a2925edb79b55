import { expect, it } from "vitest"
import { runProcesses, startPool } from "./process-pool.js"
import { isAlive } from "./process-state.js"

const script = new URL("./fixtures/pool-job.mjs", import.meta.url)

interface Report {
  job: number
  pid: number
  readyAt: number
  startedAt: number
}

it("runs each job in a process of its own, starts none before all are ready, and leaves none", async () => {
  const jobs = [{ number: 0 }, { number: 1 }, { number: 2 }, { number: 3 }]
  const reports = await runProcesses<Report>({ script, jobs })
  expect(reports.map(({ job }) => job)).toEqual([0, 1, 2, 3])
  expect(new Set(reports.map(({ pid }) => pid)).size).toBe(4)
  const lastReady = Math.max(...reports.map(({ readyAt }) => readyAt))
  expect(Math.min(...reports.map(({ startedAt }) => startedAt))).toBeGreaterThanOrEqual(lastReady)
  expect(reports.filter(({ pid }) => isAlive(pid))).toEqual([])
})

it("shows stderr when a process dies, and stops the others", async () => {
  const pool = await startPool({ script, jobs: [{ does: "die" }, { does: "hang" }] })
  await expect(pool.run()).rejects.toThrow(/^ended with code 3: process 0 .*last words$/s)
  expect(pool.processes.filter(({ pid }) => isAlive(pid))).toEqual([])
})

it("says which process did not finish in time", async () => {
  const pool = await startPool({ script, jobs: [{ number: 0 }, { does: "hang" }], timeoutMs: 90 })
  await expect(pool.run()).rejects.toThrow(/^not done within 90 ms:\nprocess 1 /)
  expect(pool.processes.filter(({ pid }) => isAlive(pid))).toEqual([])
})

it("passes on what a script throws", async () => {
  await expect(startPool({ script, jobs: [{ does: "fail to prepare" }] })).rejects.toThrow("no connection")
  await expect(runProcesses({ script, jobs: [{ does: "throw" }] })).rejects.toThrow("run failed")
})

it("reports a process that was killed", async () => {
  const pool = await startPool({ script, jobs: [{ does: "hang" }] })
  const results = pool.run()
  pool.processes[0]?.kill("SIGKILL")
  await expect(results).rejects.toThrow("ended with SIGKILL")
})
