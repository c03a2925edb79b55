import { createLimiter, type LimitOptions } from "sluice"
import { redisStore } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { runProcesses } from "../support/process-pool.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { closeRoom, openRoom } from "../support/sandbox.js"
import { bundleLibrary } from "./bundle.js"
import { openSingle } from "./clients.js"
import { PATIENT } from "./contract.js"
import { keysWithoutExpiry } from "./expiry-scan.js"
import { times } from "./one-server.js"

const PROCESSES = 8
/** Ten times as many checks with SLUICE_RUNS=10. */
const RUNS = Number(process.env.SLUICE_RUNS ?? 1)
/** So long that nothing refills while the processes run. */
const window = "365d"

interface Contest {
  readonly name: string
  readonly limits: readonly LimitOptions[]
  readonly keys: number
  /** By each process. */
  readonly checks: number
}

const exact = ["fixed-window", "sliding-window-log", "token-bucket", "leaky-bucket"] as const

const contests: Contest[] = [
  ...exact.map((algorithm) => ({
    name: `one-${algorithm}`,
    limits: [{ algorithm, limit: 3_000 * RUNS, window }],
    keys: 1,
    checks: 1_000 * RUNS,
  })),
  ...exact.map((algorithm) => ({
    name: `many-${algorithm}`,
    limits: [{ algorithm, limit: 10 * RUNS, window }],
    keys: 1_000,
    checks: 3_000 * RUNS,
  })),
  {
    name: "together",
    limits: exact.map((algorithm, i) => ({
      algorithm,
      name: algorithm,
      limit: (100 + i * 1_000) * RUNS,
      window,
    })),
    keys: 1,
    checks: 100 * RUNS,
  },
]

let server: RedisServer
let room: string
/** By contest: the admitted checks of each key, all processes together. */
let admitted: number[][]
let failures: number

beforeAll(async () => {
  server = await startRedis()
  room = openRoom("bundle")
  const sluice = await bundleLibrary(room)
  const { host, port } = server
  const jobs = times(PROCESSES, (number) => ({ number, contests, sluice, host, port }))
  const script = new URL("./fixtures/contender.mjs", import.meta.url)
  const reports = await runProcesses<{ results: number[][]; failures: number }>({
    script,
    jobs,
    timeoutMs: 100_000 * RUNS,
  })
  failures = reports.reduce((sum, report) => sum + report.failures, 0)
  admitted = contests.map(({ keys }, contest) =>
    times(keys, (key) => reports.reduce((sum, { results }) => sum + (results[contest]?.[key] ?? 0), 0)),
  )
}, 200_000 * RUNS)

afterAll(async () => {
  closeRoom(room)
  await server.stop()
})

describe(`${PROCESSES} processes at once`, () => {
  it("were all answered by Redis", () => {
    expect(failures).toBe(0)
  })

  it.each(contests.map(({ name }, i) => [name, i] as const))("%s: admits exactly the limit", (_, i) => {
    const { limits } = contests[i] as Contest
    const least = Math.min(...limits.map(({ limit }) => limit))
    // The processes ask for more than the limit of every key, so exactly the limit passes.
    expect(new Set(admitted[i])).toEqual(new Set([least]))
  })

  it("together: no limit is charged for what another denies", async () => {
    const opened = await openSingle("ioredis", server)
    const store = redisStore(opened.client, PATIENT)
    const { name, limits } = contests.at(-1) as Contest
    const { limits: left } = await createLimiter({ store, prefix: name, limits }).peek("key 0")
    expect(left?.map(({ remaining }) => remaining)).toEqual(
      limits.map(({ limit }) => limit - (limits[0]?.limit ?? 0)),
    )
    await store.close()
    await opened.close()
  })

  it("leave no key without an expiry", async () => {
    expect(await server.cli("DBSIZE")).toBeGreaterThanOrEqual(4 * 1_000 + 8)
    expect(await keysWithoutExpiry([server])).toEqual([])
  })
})
