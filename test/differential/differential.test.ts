import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { RawRedisStore } from "../../packages/sluice/src/stores/redis/redis-store.js"
import { type OpenClient, openSingle } from "../redis/clients.js"
import { PATIENT } from "../redis/contract.js"
import { expectOnlyExpiringKeys } from "../redis/expiry-scan.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { play } from "./play.js"
import { record } from "./record.js"
import { expectProperty, isReplay, printSeed, seed } from "./replay.js"
import { type Scenario, type Shape, scenarios, shapes } from "./scenario.js"
import { writeTrace } from "./trace.js"

const RUNS_ALONE = 80
const RUNS_MIXED = 400

let server: RedisServer
let opened: OpenClient
/** Without the guard: a failure must not be answered locally. Real time must not end what the given times do not. */
let store: RawRedisStore
let plays = 0
let steps = 0

printSeed()

beforeAll(async () => {
  server = await startRedis()
  opened = await openSingle("ioredis", server)
  store = new RawRedisStore(opened.client, { ...PATIENT, expiryBuffer: "1d" })
})
afterAll(async () => {
  await store.close()
  await opened.close()
  await expectOnlyExpiringKeys([server])
  await server.stop()
})

describe("Redis decides exactly as memory does", { timeout: 120_000 }, () => {
  it.each(shapes)("$title", async (shape) => {
    await holdsFor([shape], RUNS_ALONE)
  })

  it("all algorithms together", async () => {
    await holdsFor(shapes, RUNS_MIXED)
  })

  it("in at least 20,000 steps", () => {
    if (!isReplay) expect(steps).toBeGreaterThanOrEqual(20_000)
  })
})

async function holdsFor(among: readonly Shape[], runs: number): Promise<void> {
  await expectProperty(scenarios(among), runs, compare, keep)
}

async function compare(scenario: Scenario): Promise<void> {
  const { trace, answers } = await record(scenario)
  const found = await play(store, trace, `play${plays++}`)
  steps += trace.steps.length
  const wrong = answers.findIndex((answer, i) => answer !== found[i])
  if (wrong < 0) return
  const { call, at, charges } = trace.steps[wrong] as (typeof trace.steps)[number]
  const costs = charges.map(([name, , cost]) => `${name} ${cost}`).join(", ")
  throw new Error(
    `step ${wrong}, ${call} of ${costs} at ${at}\n  memory: ${answers[wrong]}\n  Redis:  ${found[wrong]}`,
  )
}

/** The failure as a trace, which traces.test.ts plays from then on. */
async function keep(scenario: Scenario): Promise<string> {
  const { trace } = await record(scenario)
  const about = `Memory and Redis answered differently; found by seed ${seed}.`
  const which = new Set(trace.policies.slice(1).map(({ algorithm }) => algorithm.name))
  return `Kept as ${writeTrace(`${[...which].join("-")}-${seed}.json`, { ...trace, about })}`
}
