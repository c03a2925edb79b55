// The first checks of a process: its own work must not count against Redis.

import { afterAll, beforeAll, expect, it } from "vitest"
import { runProcesses } from "../support/process-pool.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { closeRoom, openRoom } from "../support/sandbox.js"
import { bundleLibrary } from "./bundle.js"

let server: RedisServer
let room: string
let sluice: string

beforeAll(async () => {
  server = await startRedis()
  room = openRoom("bundle")
  sluice = await bundleLibrary(room)
})

afterAll(async () => {
  closeRoom(room)
  await server.stop()
})

it.each([1, 4])("a burst of 3,000 first checks over %i store(s) is decided by Redis", async (stores) => {
  const { host, port } = server
  const [report] = await runProcesses<{ allowed: number; degraded: number }>({
    script: new URL("./fixtures/cold-burst.mjs", import.meta.url),
    // A deadline that Redis keeps on a busy machine, too.
    jobs: [{ sluice, host, port, stores, checks: 3_000, limit: 1_000, deadlineMs: 250, blockedMs: 1_000 }],
  })
  expect(report).toEqual({ allowed: 1_000, degraded: 0 })
})
