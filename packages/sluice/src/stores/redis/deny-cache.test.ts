import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { Verdict } from "../../algorithms/algorithm.js"
import { newVerdict } from "../../algorithms/algorithm.js"
import type { Outcome } from "../store.js"
import { DenyCache } from "./deny-cache.js"

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] })
})
afterEach(() => {
  vi.useRealTimers()
})

const NOW = 1_767_225_600_000_000

/** A verdict with waits in seconds. */
function verdict(fields: Partial<Verdict>): Verdict {
  return { ...newVerdict(), ...fields }
}

function denial(...verdicts: Partial<Verdict>[]): Outcome {
  return { allowed: false, now: NOW, verdicts: verdicts.map(verdict), degraded: undefined }
}

describe("a denial that is remembered", () => {
  it("counts its waits down as time passes", () => {
    const cache = new DenyCache(1_000)
    cache.put("key", denial({ retryAfter: 5e6, resetAfter: 9e6, remaining: 2 }))
    vi.advanceTimersByTime(250)
    expect(cache.get("key")).toMatchObject({
      allowed: false,
      now: NOW + 250_000,
      verdicts: [{ allowed: false, remaining: 2, retryAfter: 4.75e6, resetAfter: 8.75e6 }],
    })
  })

  it("ends at the cap, to the millisecond", () => {
    const cache = new DenyCache(1_000)
    cache.put("key", denial({ retryAfter: 5e6 }))
    vi.advanceTimersByTime(999)
    expect(cache.get("key")).toBeDefined()
    vi.advanceTimersByTime(1)
    expect(cache.get("key")).toBeUndefined()
  })

  it("ends at its retry time when that is sooner", () => {
    const cache = new DenyCache(1_000)
    cache.put("key", denial({ retryAfter: 300_000 }))
    vi.advanceTimersByTime(299)
    expect(cache.get("key")).toMatchObject({ verdicts: [{ retryAfter: 1_000 }] })
    vi.advanceTimersByTime(1)
    expect(cache.get("key")).toBeUndefined()
  })

  it("lasts until the last of several limits allows again", () => {
    const cache = new DenyCache(1_000)
    cache.put("key", denial({ retryAfter: 100_000 }, { allowed: true }, { retryAfter: 400_000 }))
    vi.advanceTimersByTime(399)
    // The first limit would pass by now, but the check does not: it says the least it can.
    expect(cache.get("key")).toMatchObject({
      allowed: false,
      verdicts: [{ retryAfter: 1 }, { allowed: true, retryAfter: 0 }, { retryAfter: 1_000 }],
    })
    vi.advanceTimersByTime(1)
    expect(cache.get("key")).toBeUndefined()
  })

  it("that can never pass stays one that can never pass, until the cap", () => {
    const cache = new DenyCache(1_000)
    cache.put("key", denial({ retryAfter: Number.POSITIVE_INFINITY }))
    vi.advanceTimersByTime(500)
    expect(cache.get("key")).toMatchObject({ verdicts: [{ retryAfter: Number.POSITIVE_INFINITY }] })
    vi.advanceTimersByTime(500)
    expect(cache.get("key")).toBeUndefined()
  })

  it("is of its own check only", () => {
    const cache = new DenyCache(1_000)
    cache.put("key", denial({ retryAfter: 5e6 }))
    expect(cache.get("another")).toBeUndefined()
  })

  it("is not changed by what a caller does to an answer", () => {
    const cache = new DenyCache(1_000)
    cache.put("key", denial({ retryAfter: 5e6 }))
    const answer = cache.get("key") as Outcome
    ;(answer.verdicts[0] as Verdict).allowed = true
    expect(cache.get("key")).toMatchObject({ verdicts: [{ allowed: false }] })
  })

  it("is gone after clear", () => {
    const cache = new DenyCache(1_000)
    cache.put("key", denial({ retryAfter: 5e6 }))
    cache.clear()
    expect(cache.get("key")).toBeUndefined()
  })
})

it("an admission is never remembered", () => {
  const cache = new DenyCache(1_000)
  cache.put("key", { ...denial({ allowed: true }), allowed: true })
  expect(cache.get("key")).toBeUndefined()
})

it("ten thousand are remembered, and the oldest make room for new ones", () => {
  const cache = new DenyCache(1_000)
  for (let i = 0; i < 10_001; i++) cache.put(`key ${i}`, denial({ retryAfter: 5e6 }))
  expect(cache.get("key 0")).toBeUndefined()
  expect(cache.get("key 1")).toBeDefined()
  expect(cache.get("key 10000")).toBeDefined()
})
