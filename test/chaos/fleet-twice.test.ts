// Eight real processes on one busy key, and two outages of Redis. When Redis returns for the first time, the first
// heartbeats count fewer instances than there are. The second outage must not divide the limit by that number.

import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"
import { afterAll, beforeAll, expect, it } from "vitest"
import { startPool } from "../support/process-pool.js"
import { startRedis } from "../support/redis/single.js"
import { closeRoom, openRoom } from "../support/sandbox.js"
import { worstWindow } from "./figures.js"

const INSTANCES = 8
const LIMIT = 100
const WINDOW_MS = 1_000
const HEALTHY_MS = 500
/** Longer than three heartbeats of 200 ms, so that Redis finds no live instance when it returns. */
const FIRST_MS = 1_000
/** Time for some of the instances to return, and not for all. */
const BETWEEN_MS = 300
const SECOND_MS = 3_200
/** By then the breaker of every instance is open, also on a busy machine. */
const OPEN_WITHIN_MS = 1_000

const sources = fileURLToPath(new URL("../../packages/sluice/src", import.meta.url))
let room: string
let script: string

beforeAll(async () => {
  room = openRoom("fleet-twice")
  script = join(room, "fleet-instance.mjs")
  await build({
    input: fileURLToPath(new URL("./fixtures/fleet-instance.mjs", import.meta.url)),
    platform: "node",
    resolve: {
      alias: { "sluice/redis": join(sources, "stores/redis/index.ts"), sluice: join(sources, "index.ts") },
    },
    output: { file: script, codeSplitting: false },
    logLevel: "silent",
  })
}, 60_000)
afterAll(() => closeRoom(room))

it(`${INSTANCES} processes admit at most the limit and one each in the second outage`, {
  timeout: 60_000,
}, async () => {
  const redis = await startRedis()
  try {
    const job = {
      url: redis.url,
      instances: INSTANCES,
      algorithm: "sliding-window-log",
      limit: LIMIT,
      windowMs: WINDOW_MS,
      perSecond: 60,
      durationMs: HEALTHY_MS + FIRST_MS + BETWEEN_MS + SECOND_MS,
    }
    const pool = await startPool<{ admittedAt: number[]; degraded: number }>({
      script: new URL(`file://${script}`),
      jobs: Array.from({ length: INSTANCES }, () => job),
    })
    const running = pool.run()
    await pause(HEALTHY_MS)
    await redis.kill()
    await pause(FIRST_MS)
    await redis.restart()
    await pause(BETWEEN_MS)
    await redis.pause()
    const steadyFrom = Date.now() + WINDOW_MS + OPEN_WITHIN_MS
    const instances = await running
    const steady = instances.flatMap(({ admittedAt }) => admittedAt).filter((at) => at >= steadyFrom)
    // Without this the test would have tried nothing.
    expect(instances.every(({ degraded }) => degraded > 50)).toBe(true)
    expect(worstWindow(steady, WINDOW_MS)).toBeGreaterThan(LIMIT / 2)
    expect(worstWindow(steady, WINDOW_MS)).toBeLessThanOrEqual(LIMIT + INSTANCES)
  } finally {
    await redis.stop()
  }
})

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
