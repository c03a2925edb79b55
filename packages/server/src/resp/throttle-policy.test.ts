import { memoryStore } from "sluice"
import { Namespace } from "sluice/internal"
import { ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import { ThrottleArgumentError, ThrottlePolicies } from "./throttle-policy.js"

describe("the policy of a command", () => {
  it("is gcra with a capacity of max_burst + 1", () => {
    const policy = new ThrottlePolicies().get(15, 30, 60)
    expect(policy).toMatchObject({ limit: 30, window: 60_000_000, capacity: 16 })
    expect(policy.algorithm.name).toBe("gcra")
  })

  it("is the same object while it is cached", () => {
    const cache = new ThrottlePolicies()
    expect(cache.get(15, 30, 60)).toBe(cache.get(15, 30, 60))
    expect(cache.get(16, 30, 60)).not.toBe(cache.get(15, 30, 60))
  })

  it("is right for any numbers, however many share a slot", () => {
    const cache = new ThrottlePolicies()
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 3_000; n++) {
        const policy = cache.get(n, (n % 7) + 1, (n % 11) + 1)
        const window = ((n % 11) + 1) * 1_000_000
        expect(policy).toMatchObject({ capacity: n + 1, limit: (n % 7) + 1, window })
      }
    }
  })

  it.each([
    [-1, 1, 1, /max_burst must be from 0/],
    [2 ** 50, 1, 1, /max_burst must be from 0/],
    [1, 0, 1, /zero rates/],
    [1, 1, 0, /zero rates/],
    [1, -1, 1, /count must be from 1/],
    [1, 1e300, 1, /count must be from 1/],
    [1, 1, -1, /period must be from 1/],
    [1, 1, 315_576_001, /period must be from 1/],
  ])("refuses %d %d %d", (maxBurst, count, period, message) => {
    const get = () => new ThrottlePolicies().get(maxBurst, count, period)
    expect(get).toThrow(ThrottleArgumentError)
    expect(get).toThrow(message)
  })

  it("is refused when it cannot be counted exactly", () => {
    const get = () => new ThrottlePolicies().get(2 ** 40, 7, 86_400)
    expect(get).toThrow(expect.objectContaining({ code: "POLICY_TOO_LARGE" }))
  })

  it("lets keys of a fast limit expire early although a slow limit shares their namespace", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const cache = new ThrottlePolicies()
    const namespace = new Namespace("test")
    const slow = cache.get(4, 5, 86_400)
    const fast = cache.get(99, 100, 1)
    const ask = (key: string, policy: typeof slow) => store.checkOneSync(namespace, key, policy, 3)
    ask("slow", slow)
    for (let n = 0; n < 1_000; n++) ask(`old:${n}`, fast)
    clock.advance(60_000)
    // Each new key looks at a few old ones.
    for (let n = 0; n < 1_000; n++) ask(`new:${n}`, fast)
    expect(store.stats.keys).toBeLessThan(1_200)
    expect(ask("slow", slow).allowed).toBe(false)
  })
})
