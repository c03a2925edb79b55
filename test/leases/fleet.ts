// A fleet of real processes with leases, and the admissions that they wrote down.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import type { LimitOptions } from "sluice"
import { bundleLibrary } from "../redis/bundle.js"
import { afterThis } from "../support/after-this.js"
import { eventually } from "../support/eventually.js"
import { closeRoom, openRoom } from "../support/sandbox.js"
import type { Admission } from "./promises.js"

export interface FleetOptions {
  readonly processes: number
  readonly url: string
  readonly limits: readonly (LimitOptions & { readonly name: string })[]
  /** Of a lease. */
  readonly length: string
  /** How long the processes run at most. */
  readonly ms: number
  /** Each process checks each limit `atOnce` times every `everyMs`. */
  readonly atOnce: number
  readonly everyMs: number
  /** Whether a process ends when Redis has nothing left of any limit. */
  readonly untilDenied?: boolean
}

export interface Fleet {
  readonly processes: readonly ChildProcess[]
  readonly ended: Promise<unknown>
  /** What was admitted of a limit so far, by time. */
  admissions(limit: number): Admission[]
  /** How many units leases have paid so far. */
  byLease(): number
}

/** Starts a fleet, and waits until each of its processes has admitted something. They are killed after the test. */
export async function startFleet({ processes: count, ...options }: FleetOptions): Promise<Fleet> {
  const room = openRoom("leases")
  afterThis(() => closeRoom(room))
  const sluice = await bundleLibrary(room)
  // connectRedis looks for the client beside the library.
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(room, "node_modules"))
  const logs = Array.from({ length: count }, (_, i) => join(room, `${i}.log`))
  const program = join(import.meta.dirname, "fixtures/instance.mjs")
  const processes = logs.map((log) => {
    const job = JSON.stringify({ sluice, log, ...options })
    return spawn(process.execPath, [program, job], { stdio: ["ignore", "ignore", "inherit"] })
  })
  const ended = Promise.all(processes.map((child) => once(child, "exit")))
  afterThis(async () => {
    for (const child of processes) child.kill("SIGKILL")
    await ended
  })
  await eventually(() => logs.every((log) => existsSync(log) && statSync(log).size > 0), { within: 30_000 })
  // The last line may be half written.
  const lines = () => logs.flatMap((log) => readFileSync(log, "utf8").split("\n").slice(0, -1))
  return {
    processes,
    ended,
    admissions: (limit) =>
      lines()
        .map((line) => line.split(" "))
        .filter(([index]) => Number(index) === limit)
        .map(([, at]) => ({ at: Number(at), units: 1 }))
        .sort((a, b) => a.at - b.at),
    byLease: () => lines().filter((line) => line.endsWith(" lease")).length,
  }
}
