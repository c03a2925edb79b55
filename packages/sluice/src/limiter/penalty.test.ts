import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SluiceError } from "../errors.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import { modelled, penaltyScenarios, seenBy } from "./penalty.test-support.js"

const PENALTY = { after: 2, within: "10s", block: "1m" }

describe("a penalty", () => {
  it("decides as the model does", async () => {
    await fc.assert(
      fc.asyncProperty(penaltyScenarios, async (scenario) => {
        const clock = new ManualClock()
        const limiter = createLimiter({ ...scenario.limit, penalty: scenario.penalty, clock })
        expect(await seenBy(limiter, clock, scenario)).toEqual(await modelled(scenario))
      }),
      { numRuns: 200 },
    )
  })

  it("counts for each limit by itself", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const login = createLimiter({ name: "login", limit: 1, window: "1s", penalty: PENALTY, store, clock })
    const api = createLimiter({ name: "api", limit: 1, window: "1s", penalty: PENALTY, store, clock })
    for (const limiter of [login, api]) for (let i = 0; i < 2; i++) limiter.checkSync("user")
    expect(login.checkSync("user").deniedBy).toBe("block")
    expect(api.checkSync("user", { cost: 0 }).allowed).toBe(true)
  })

  it("says block for a blocked key, also if a full limit takes longer", async () => {
    const clock = new ManualClock()
    const limiter = createLimiter({
      limits: [{ limit: 1, window: "1h", algorithm: "fixed-window", anchor: "first-request" }],
      clock,
    })
    await limiter.check("ann")
    await limiter.block("ann", "1m")
    const denied = { allowed: false, deniedBy: "block", remaining: 0, retryAfterMs: 3_600_000 }
    expect(await limiter.check("ann")).toMatchObject(denied)
    clock.advance(60_000)
    expect(await limiter.check("ann")).toMatchObject({ deniedBy: "1/1h", retryAfterMs: 3_540_000 })
  })

  it("leaves nothing in the store when it is forgotten", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock, maxKeys: 4 })
    const limiter = createLimiter({ limit: 1, window: "1s", penalty: PENALTY, store, clock })
    // Every key that was denied has two states. New keys only fit if those of the others expire.
    for (let i = 0; i < 20; i++) {
      for (let check = 0; check < 2; check++) limiter.checkSync(`key ${i}`)
      clock.advance(20_000)
    }
    expect(store.stats.keys).toBeLessThanOrEqual(4)
    expect(store.stats.refused).toBe(0)
  })

  it.each([
    [{ after: 0 }, "after", "must be an integer from 1 to 1000000"],
    [{ factor: 0.5 }, "factor", "must be a number from 1 to 1000"],
    [{ max: "10s" }, "max", "must be at least as long as block"],
    [{ within: 0 }, "within", "must be between 1 microsecond and 10 years"],
    [{ block: "4000d" }, "block", "must be between 1 microsecond and 10 years"],
  ])("refuses %j", (wrong, field, expected) => {
    const penalty = { ...PENALTY, ...wrong }
    const make = () => createLimiter({ limit: 1, window: "1s", penalty })
    expect(make).toThrow(SluiceError)
    expect(make).toThrow(`createLimiter.penalty.${field}: ${expected}`)
    expect(make).toThrow("PENALTY_INVALID")
  })

  it("names the option that is missing or unknown", () => {
    const make = (penalty: object) => () =>
      createLimiter({ limit: 1, window: "1s", penalty: penalty as typeof PENALTY })
    expect(make({ after: 1, block: "1m" })).toThrow("createLimiter.penalty.within: is required")
    expect(make({ ...PENALTY, blocks: 1 })).toThrow("OPTION_UNKNOWN")
  })
})
