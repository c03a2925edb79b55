import { afterEach, describe, expect, it, vi } from "vitest"
import { systemClock } from "./clock.js"
import { createLimiter } from "./limiter/limiter.js"
import { memoryStore } from "./stores/memory/memory-store.js"

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
const nextTimer = () => new Promise<void>((resolve) => setTimeout(resolve, 1))

/** Holds the thread until the system's time has moved on by so much. */
function busyFor(ms: number): void {
  const end = Date.now() + ms
  while (Date.now() < end);
}

/** Reads often enough that readings begin to be shared. */
function burst(): void {
  for (let i = 0; i < 1_000; i++) systemClock.now()
}

describe("systemClock", () => {
  it("returns the system's time", () => {
    const before = Date.now()
    const now = systemClock.now()
    expect(now).toBeGreaterThanOrEqual(before - 1)
    expect(now).toBeLessThanOrEqual(Date.now())
  })

  it("reads the clock for every single call, however long the turn of the event loop", () => {
    for (let i = 0; i < 5; i++) {
      busyFor(2)
      const before = Date.now()
      const now = systemClock.now()
      expect(now).toBeGreaterThanOrEqual(before)
      expect(now).toBeLessThanOrEqual(Date.now())
    }
  })

  it("never runs behind by more than 64 calls within a turn", () => {
    burst()
    busyFor(3)
    const now = Date.now()
    const readings = Array.from({ length: 64 }, () => systemClock.now())
    expect(readings.at(-1)).toBeGreaterThanOrEqual(now)
  })

  it.each([
    ["setImmediate", nextTurn],
    ["setTimeout", nextTimer],
  ])("never carries a reading into a turn begun by %s", async (_name, next) => {
    for (let i = 0; i < 20; i++) {
      await nextTurn()
      burst()
      busyFor(2)
      await next()
      await nextTurn()
      busyFor(1)
      const now = Date.now()
      expect(systemClock.now()).toBeGreaterThanOrEqual(now)
    }
  })

  it("never runs backwards within a burst", () => {
    let last = 0
    for (let i = 0; i < 200_000; i++) {
      const now = systemClock.now()
      if (now < last) expect.fail(`${now} after ${last}`)
      last = now
    }
  })

  it("honours a replaced Date at once, in the middle of a burst", () => {
    burst()
    vi.useFakeTimers({ now: 1_000_000 })
    expect(systemClock.now()).toBe(1_000_000)
    for (let i = 0; i < 200; i++) {
      vi.setSystemTime(2_000_000 + i)
      expect(systemClock.now()).toBe(2_000_000 + i)
    }
    vi.advanceTimersByTime(5_000)
    expect(systemClock.now()).toBe(2_005_199)
    vi.useRealTimers()
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000)
  })

  it("honours Date.now replaced by hand", () => {
    burst()
    vi.spyOn(Date, "now").mockReturnValue(42_000)
    expect(systemClock.now()).toBe(42_000)
    vi.restoreAllMocks()
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000)
  })
})

describe("a limiter under fake timers", () => {
  it("lives in the faked time from the first call, and in real time after", () => {
    const limiter = createLimiter({ algorithm: "fixed-window", limit: 2, window: "1m" })
    for (let i = 0; i < 100; i++) limiter.checkSync(`warm ${i}`)
    vi.useFakeTimers({ now: Date.UTC(2030, 0, 1) })
    expect(limiter.checkSync("key", { cost: 2 }).resetAt).toBe(Date.UTC(2030, 0, 1, 0, 1))
    expect(limiter.checkSync("key").allowed).toBe(false)
    vi.advanceTimersByTime(59_999)
    expect(limiter.checkSync("key").allowed).toBe(false)
    vi.advanceTimersByTime(1)
    expect(limiter.checkSync("key").allowed).toBe(true)
  })

  it("forgets keys on faked ticks", () => {
    vi.useFakeTimers()
    const store = memoryStore()
    const limiter = createLimiter({ store, algorithm: "fixed-window", limit: 2, window: "1s" })
    for (let i = 0; i < 100; i++) limiter.checkSync(`key ${i}`)
    expect(store.stats.keys).toBe(100)
    vi.advanceTimersByTime(5_000)
    expect(store.stats.keys).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe("schedule", () => {
  it("calls back after so many milliseconds, never early", () => {
    vi.useFakeTimers()
    let calls = 0
    systemClock.schedule?.(100.001, () => calls++)
    vi.advanceTimersByTime(100)
    expect(calls).toBe(0)
    vi.advanceTimersByTime(1)
    expect(calls).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(calls).toBe(1)
  })

  it("waits 30 days where setTimeout alone would fire at once", () => {
    vi.useFakeTimers()
    const days = 86_400_000
    for (const wait of [25 * days, 30 * days, 365 * days]) {
      let calls = 0
      systemClock.schedule?.(wait, () => calls++)
      vi.advanceTimersByTime(1_000)
      expect(calls).toBe(0)
      vi.advanceTimersByTime(wait - 1_001)
      expect(calls).toBe(0)
      vi.advanceTimersByTime(1)
      expect(calls).toBe(1)
    }
    expect(vi.getTimerCount()).toBe(0)
  })

  it("can be cancelled, also beyond the first 24 days", () => {
    vi.useFakeTimers()
    let calls = 0
    for (const waited of [0, 1_000, 26 * 86_400_000]) {
      const cancel = systemClock.schedule?.(30 * 86_400_000, () => calls++)
      vi.advanceTimersByTime(waited)
      cancel?.()
      expect(vi.getTimerCount()).toBe(0)
    }
    vi.advanceTimersByTime(40 * 86_400_000)
    expect(calls).toBe(0)
  })
})
