import { memoryStore } from "sluice"
import { Namespace } from "sluice/internal"
import { ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import { TermsCache, TermsError } from "./terms.js"

describe("the terms of a command", () => {
  it("are a gcra policy that holds one more than max_burst", () => {
    const { policy } = new TermsCache().get(15, 30, 60)
    expect(policy).toMatchObject({ limit: 30, window: 60_000_000, capacity: 16 })
    expect(policy.algorithm.name).toBe("gcra")
  })

  it("are the same object while they are remembered", () => {
    const cache = new TermsCache()
    expect(cache.get(15, 30, 60)).toBe(cache.get(15, 30, 60))
    expect(cache.get(16, 30, 60)).not.toBe(cache.get(15, 30, 60))
  })

  it("are right for any numbers, however many share a place", () => {
    const cache = new TermsCache()
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 3_000; n++) {
        const terms = cache.get(n, (n % 7) + 1, (n % 11) + 1)
        expect(terms).toMatchObject({ maxBurst: n, count: (n % 7) + 1, period: (n % 11) + 1 })
        expect(terms.policy.capacity).toBe(n + 1)
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
  ])("%d %d %d are refused", (maxBurst, count, period, message) => {
    const get = () => new TermsCache().get(maxBurst, count, period)
    expect(get).toThrow(TermsError)
    expect(get).toThrow(message)
  })

  it("are refused when they cannot be counted exactly", () => {
    const get = () => new TermsCache().get(2 ** 40, 7, 86_400)
    expect(get).toThrow(expect.objectContaining({ code: "POLICY_TOO_LARGE" }))
  })

  it("let keys of a fast limit be forgotten soon, though a slow one shares their namespace", () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const cache = new TermsCache()
    const namespace = new Namespace("test")
    const slow = cache.get(4, 5, 86_400).policy
    const fast = cache.get(99, 100, 1).policy
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
