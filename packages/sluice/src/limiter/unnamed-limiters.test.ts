import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest"
import { memoryStore } from "../stores/memory/memory-store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import type { LimiterOptions } from "./limiter-options.js"

let warned: MockInstance

beforeEach(() => {
  warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
})

const minute = { limit: 100, window: "1m" } as const

/** What a second limiter finds left of its limits after the first has charged the key 3 units. */
async function leftBeside(first: LimiterOptions, second: LimiterOptions): Promise<number[]> {
  const store = memoryStore({ clock: new ManualClock() })
  await createLimiter({ ...first, store }).check("key", { cost: 3 })
  const { limits, remaining } = await createLimiter({ ...second, store }).peek("key")
  return limits?.map((limit) => limit.remaining) ?? [remaining]
}

describe("two limiters without a name on one store", () => {
  it.each<[string, LimiterOptions, LimiterOptions, number[]]>([
    ["another limit", minute, { limit: 5, window: "1m" }, [5]],
    ["another window", minute, { limit: 100, window: "1h" }, [100]],
    ["another algorithm", minute, { ...minute, algorithm: "gcra" }, [100]],
    ["other buckets", minute, { ...minute, buckets: 6 }, [100]],
    [
      "another burst",
      { ...minute, algorithm: "token-bucket" },
      { ...minute, algorithm: "token-bucket", burst: 200 },
      [200],
    ],
    [
      "another anchor",
      { ...minute, algorithm: "fixed-window" },
      { ...minute, algorithm: "fixed-window", anchor: "first-request" },
      [100],
    ],
    [
      "another overflow",
      { ...minute, algorithm: "leaky-bucket" },
      { ...minute, algorithm: "leaky-bucket", overflow: "queue" },
      [100],
    ],
    ["one more limit", minute, { limits: [{ limit: 5, window: "1s" }, minute] }, [5, 100]],
    [
      "another limit and the same prefix",
      { ...minute, prefix: "app" },
      { limit: 5, window: "1m", prefix: "app" },
      [5],
    ],
  ])("share no counter if one has %s", async (_what, first, second, left) => {
    expect(await leftBeside(first, second)).toEqual(left)
    expect(warned).not.toHaveBeenCalled()
  })

  it("share their counters if all limits are the same, and a warning names the fix", async () => {
    expect(await leftBeside(minute, minute)).toEqual([97])
    expect(warned).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({
        code: "LIMITERS_UNNAMED",
        message: expect.stringMatching(/sc:100\/1m.*own name or prefix/),
      }),
    )
  })

  it("are warned of once, however many there are", async () => {
    const store = memoryStore()
    for (let i = 0; i < 5; i++) createLimiter({ ...minute, store })
    expect(warned).toHaveBeenCalledOnce()
  })

  it("are not warned of if the first was closed", async () => {
    const store = memoryStore()
    for (let i = 0; i < 3; i++) {
      const limiter = createLimiter({ ...minute, store })
      await limiter.close()
      await limiter.close()
    }
    expect(warned).not.toHaveBeenCalled()
  })
})

it.each<[string, LimiterOptions]>([
  ["name", { ...minute, name: "api" }],
  ["prefix", { ...minute, prefix: "api" }],
])("limiters of one %s share their counters on purpose", async (_what, options) => {
  expect(await leftBeside(options, options)).toEqual([97])
  expect(warned).not.toHaveBeenCalled()
})

it("limiters with a store of their own share nothing, and need no name", async () => {
  const [one, other] = [createLimiter(minute), createLimiter(minute)]
  await one.check("key")
  expect((await other.peek("key")).remaining).toBe(100)
  expect(warned).not.toHaveBeenCalled()
})
