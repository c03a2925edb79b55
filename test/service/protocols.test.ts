import { ManualClock } from "sluice/testing"
import { afterEach, describe, expect, it } from "vitest"
import { askers, KEYS, startWhole, toldByEngine, twinRules, type WholeService } from "./askers.js"
import { openCore } from "./bed.js"

let service: WholeService | undefined

afterEach(async () => {
  await service?.close()
  service = undefined
})

type Step = readonly [advanceMs: number, cost: number]

/** Up to the limit, over it, a little too early, just in time, and after everything is forgotten. */
const ones: readonly Step[] = [
  [0, 1],
  [0.25, 1],
  [1_000, 1],
  [0, 1],
  [2_333.083, 1],
  [1, 1],
  [5_000, 1],
  [60_000, 1],
]
const costs: readonly Step[] = [
  [0, 2],
  [0, 0],
  [10, 2],
  [4_000, 1],
  [0, 4],
  [3_000, 3],
  [30_000, 3],
]

const algorithms = [
  "{ algorithm: fixed-window, limit: 3, window: 10s }",
  "{ algorithm: sliding-window-log, limit: 3, window: 10s }",
  "{ algorithm: sliding-window-counter, limit: 3, window: 10s, buckets: 2 }",
  "{ algorithm: token-bucket, limit: 3, window: 10s }",
  "{ algorithm: token-bucket, limit: 1, window: 1s, burst: 3 }",
  "{ algorithm: leaky-bucket, limit: 3, window: 10s }",
  "{ algorithm: gcra, limit: 3, window: 10s }",
]

describe.each(askers)("$name", ({ rule, takesCost, ask }) => {
  it.each(algorithms)("gets the decisions of the engine for the same requests: %s", async (limits) => {
    const rules = twinRules(limits)
    for (const trace of takesCost ? [ones, costs] : [ones]) {
      service = await startWhole(rules)
      const clock = new ManualClock()
      const engine = openCore(rules, clock)
      for (const [i, [advanceMs, cost]] of trace.entries()) {
        clock.advance(advanceMs)
        service.bed.clock.advance(advanceMs)
        const expected = toldByEngine(await engine.core.engine.checkKey(rule, KEYS[rule], { cost }))
        const told = await ask(service, cost)
        expect(told).toHaveProperty("allowed")
        expect({ step: i, ...expected }).toMatchObject({ step: i, ...told })
      }
      await engine.close()
      await service.close()
      service = undefined
    }
  })
})

describe("all protocols together", () => {
  it.each(["by-ip", "by-descriptor"] as const)("count on one counter: %s", async (rule) => {
    const limit = 100
    service = await startWhole(twinRules(`{ algorithm: sliding-window-log, limit: ${limit}, window: 10s }`))
    const able = askers.filter((asker) => asker.rule === rule)
    expect(able.length).toBeGreaterThan(2)
    let left = limit
    for (let round = 0; round < 5; round++) {
      for (const { name, ask } of able) {
        left--
        expect([name, (await ask(service, 1)).remaining]).toEqual([name, left])
      }
    }
    const { remaining } = await service.bed.core.engine.checkKey(rule, KEYS[rule], { cost: 0 })
    expect(remaining).toBe(left)
  })

  it("report the protocol to the observers", async () => {
    service = await startWhole(twinRules("{ algorithm: sliding-window-log, limit: 100, window: 10s }"))
    for (const { ask } of askers) await ask(service, 1)
    const protocols = new Set(service.bed.decided.map(({ protocol }) => protocol))
    expect([...protocols].sort()).toEqual(["auth", "grpc", "http", "json", "resp"])
  })
})
