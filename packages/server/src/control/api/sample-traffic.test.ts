import { readFileSync } from "node:fs"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { type TestCore, testCore } from "../../core.test-support.js"
import { EXAMPLE_RULES } from "../../service/rules.js"
import { SAMPLE_MS, SampleTraffic } from "./sample-traffic.js"

let core: TestCore
let sample: SampleTraffic

beforeEach(() => {
  vi.useFakeTimers()
  core = testCore(readFileSync(EXAMPLE_RULES, "utf8"))
  sample = new SampleTraffic(core, core.clock)
})

afterEach(async () => {
  sample.stop()
  vi.useRealTimers()
  await core.close()
})

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    core.clock.advance(100)
    await vi.advanceTimersByTimeAsync(100)
  }
}

describe("sample traffic", () => {
  it("matches every rule of the example, so that the dashboard shows each of them", async () => {
    sample.start()
    await pass(20_000)
    const decisions = core.decided.map(({ decision }) => decision)
    const outcomes = {
      allowed: decisions.some(({ allowed }) => allowed),
      "api denies": decisions.some(({ allowed, rule }) => !allowed && rule === "api"),
      "login denies": decisions.some(({ allowed, rule }) => !allowed && rule === "login"),
      "search would deny": decisions.some(({ shadowDenied }) => shadowDenied.includes("search")),
    }
    expect(outcomes).toEqual({
      allowed: true,
      "api denies": true,
      "login denies": true,
      "search would deny": true,
    })
  })

  it("ends by itself after a minute, and sends at most 100 requests per second", async () => {
    const endsAt = sample.start()
    expect(endsAt).toBe(core.clock.now() + SAMPLE_MS)
    await pass(SAMPLE_MS)
    const sent = core.decided.length
    expect(sample.endsAt).toBeUndefined()
    expect(sent / 60).toBeLessThan(100)
    await pass(10_000)
    expect(core.decided.length).toBe(sent)
  })

  it("runs once, however often it is started", async () => {
    const endsAt = sample.start()
    await pass(1_000)
    expect(sample.start()).toBe(endsAt)
    sample.stop()
    await pass(1_000)
    const sent = core.decided.length
    await pass(5_000)
    expect(core.decided.length).toBe(sent)
  })
})
