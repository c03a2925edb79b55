// Waiting, seen through a limiter.

import { getEventListeners } from "node:events"
import { describe, expect, it, vi } from "vitest"
import { MAX_TIMEOUT_MS } from "../clock.js"
import type { Decision } from "../decision.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import { settle, setUp } from "./wait-queue.test-support.js"

const DAY_MS = 86_400_000

/**
 * Lets `clock` tell the time and run the timers of a day or more, as `setTimeout` would: one that is too long fires at
 * once. Shorter timers stay real. Another file of this worker may have left one that starts itself again, and 30 days of
 * it would be millions of ticks.
 */
function useLongTimersOf(clock: ManualClock): void {
  const { setTimeout, clearTimeout } = globalThis
  vi.spyOn(Date, "now").mockImplementation(() => clock.now())
  vi.stubGlobal("setTimeout", (callback: () => void, ms = 0, ...args: []) => {
    if (ms < DAY_MS) return setTimeout(callback, ms, ...args)
    return clock.schedule(ms > MAX_TIMEOUT_MS ? 1 : ms, callback)
  })
  vi.stubGlobal("clearTimeout", (timer: NodeJS.Timeout | (() => void)) => {
    if (typeof timer === "function") timer()
    else clearTimeout(timer)
  })
}

describe("wait", () => {
  it("resolves at once when the request may pass", async () => {
    const { clock, limiter } = setUp()
    expect(await limiter.wait("key")).toMatchObject({ allowed: true, remaining: 0 })
    expect(clock.pending).toBe(0)
  })

  it("resolves exactly when the request may pass, and charges it once", async () => {
    const { clock, limiter, passed, wait, advance } = setUp()
    await limiter.check("key")
    void wait("a")
    await settle()
    expect(clock.pending).toBe(1)
    await advance(99.999)
    expect(passed).toEqual([])
    await advance(0.001)
    expect(passed).toEqual([["a", 100]])
    expect(clock.pending).toBe(0)
    expect((await limiter.peek("key")).remaining).toBe(0)
  })

  it("is first come, first served, one timer for the whole line", async () => {
    const { clock, limiter, passed, wait, advance } = setUp()
    await limiter.check("key")
    for (const name of ["a", "b", "c", "d"]) void wait(name)
    await settle()
    expect(clock.pending).toBe(1)
    for (let i = 0; i < 4; i++) await advance(100)
    expect(passed).toEqual([
      ["a", 100],
      ["b", 200],
      ["c", 300],
      ["d", 400],
    ])
    expect(clock.pending).toBe(0)
  })

  it("lets no request with a smaller cost overtake", async () => {
    const { limiter, passed, wait, advance } = setUp({ burst: 5 })
    await limiter.check("key", { cost: 5 })
    void wait("large", "key", { cost: 5 })
    void wait("small", "key", { cost: 1 })
    await settle()
    await advance(400)
    expect(passed).toEqual([])
    await advance(100)
    await advance(100)
    expect(passed).toEqual([
      ["large", 500],
      ["small", 600],
    ])
  })

  it("keeps a line per key", async () => {
    const { limiter, passed, wait, advance } = setUp()
    for (const key of ["one", "two"]) await limiter.check(key)
    void wait("a", "one")
    void wait("b", "two")
    void wait("c", "three")
    await settle()
    expect(passed).toEqual([["c", 0]])
    await advance(100)
    expect(passed.slice(1).sort()).toEqual([
      ["a", 100],
      ["b", 100],
    ])
  })

  it("checks again when another request took the units it waited for", async () => {
    const { limiter, passed, wait, advance } = setUp()
    await limiter.check("key")
    void wait("a")
    await settle()
    await advance(99)
    await limiter.check("key", { at: Date.UTC(2026, 0, 1) + 100 })
    await advance(1)
    expect(passed).toEqual([])
    await advance(100)
    expect(passed).toEqual([["a", 200]])
  })

  it("resolves with the denial when the cost can never fit", async () => {
    const { clock, limiter } = setUp()
    expect(await limiter.wait("key", { cost: 2 })).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    expect(clock.pending).toBe(0)
  })

  it("waits for the end of a block", async () => {
    const { limiter, passed, wait, advance } = setUp()
    await limiter.block("key", "10s")
    void wait("a")
    await settle()
    await advance(9_999)
    expect(passed).toEqual([])
    await advance(1)
    expect(passed).toEqual([["a", 10_000]])
  })

  it("takes a limit of the call", async () => {
    const { limiter, passed, wait, advance } = setUp()
    await limiter.check("key")
    void wait("a", "key", { limit: 100 })
    await settle()
    await advance(10)
    expect(passed).toEqual([["a", 10]])
  })

  it("of 30 days does not end at once", async () => {
    const clock = new ManualClock()
    useLongTimersOf(clock)
    const limiter = createLimiter({ algorithm: "sliding-window-log", limit: 1, window: "30d" })
    await limiter.check("key")
    let decision: Decision | undefined
    void limiter.wait("key").then((passed) => {
      decision = passed
    })
    await settle()
    clock.advance(1_000)
    await settle()
    expect(decision).toBeUndefined()
    clock.advance(30 * DAY_MS - 2_000)
    await settle()
    expect(decision).toBeUndefined()
    clock.advance(2_000)
    await settle()
    expect(decision).toMatchObject({ allowed: true })
    await limiter.close()
    expect(clock.pending).toBe(0)
  })

  it("leaves nothing behind after ten thousand keys", async () => {
    const { clock, limiter, wait, advance } = setUp()
    const waits: Promise<Decision>[] = []
    for (let i = 0; i < 10_000; i++) {
      limiter.checkSync(`key ${i}`)
      waits.push(wait("x", `key ${i}`))
    }
    await settle()
    expect(clock.pending).toBe(10_000)
    await advance(100)
    const decisions = await Promise.all(waits)
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    expect(clock.pending).toBe(0)
  }, 20_000)
})

describe("wait with maxWaitMs", () => {
  it("resolves at once with the denial when the wait would be longer", async () => {
    const { clock, limiter } = setUp()
    await limiter.check("key")
    expect(await limiter.wait("key", { maxWaitMs: 99.999 })).toMatchObject({
      allowed: false,
      retryAfterMs: 100,
    })
    expect(clock.pending).toBe(0)
  })

  it("waits when it is just long enough", async () => {
    const { limiter, passed, wait, advance } = setUp()
    await limiter.check("key")
    void wait("a", "key", { maxWaitMs: 100 })
    await settle()
    await advance(100)
    expect(passed).toEqual([["a", 100]])
  })

  it("of 0 never waits", async () => {
    const { clock, limiter } = setUp()
    expect((await limiter.wait("key", { maxWaitMs: 0 })).allowed).toBe(true)
    expect((await limiter.wait("key", { maxWaitMs: 0 })).allowed).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it("gives up in time behind others, with a denial that says when to come back", async () => {
    const { clock, limiter, passed, wait, advance } = setUp()
    await limiter.check("key")
    for (const name of ["a", "b"]) void wait(name)
    const last = wait("c", "key", { maxWaitMs: 150 })
    await settle()
    await advance(100)
    await advance(49)
    expect(passed).toEqual([["a", 100]])
    await advance(1)
    expect(passed).toEqual([
      ["a", 100],
      ["c denied", 150],
    ])
    const denial = await last
    expect(denial).toMatchObject({ allowed: false, deniedBy: expect.any(String) })
    expect(denial.retryAfterMs).toBeGreaterThan(0)
    await advance(50)
    expect(passed.at(-1)).toEqual(["b", 200])
    expect(clock.pending).toBe(0)
  })

  it("gives up when its turn comes too late", async () => {
    const { clock, limiter, passed, wait, advance } = setUp()
    await limiter.check("key")
    void wait("a")
    void wait("b", "key", { maxWaitMs: 150 })
    await settle()
    await advance(100)
    // Its turn now, but it would have to wait until 200.
    expect(passed).toEqual([
      ["a", 100],
      ["b denied", 100],
    ])
    expect(clock.pending).toBe(0)
  })
})

describe("an aborted wait", () => {
  it("rejects at once with the reason when it was aborted before", async () => {
    const { clock, limiter } = setUp()
    const reason = new Error("gone")
    await expect(limiter.wait("key", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(clock.pending).toBe(0)
    expect((await limiter.peek("key")).remaining).toBe(1)
  })

  it("rejects with the reason while waiting, and leaves no timer and no listener", async () => {
    const { clock, limiter, wait } = setUp()
    await limiter.check("key")
    const controller = new AbortController()
    const waiting = wait("a", "key", { signal: controller.signal })
    await settle()
    expect(clock.pending).toBe(1)
    controller.abort(new Error("client went away"))
    await expect(waiting).rejects.toThrow("client went away")
    expect(clock.pending).toBe(0)
    expect(getEventListeners(controller.signal, "abort")).toEqual([])
  })

  it("leaves no listener on a signal that outlives it", async () => {
    const { clock, limiter, wait, advance } = setUp()
    const controller = new AbortController()
    for (let i = 0; i < 20; i++) {
      const waiting = wait("a", "key", { signal: controller.signal, maxWaitMs: i % 2 === 0 ? 1_000 : 0 })
      await settle()
      await advance(i % 4 === 0 ? 100 : 50)
      await waiting
    }
    expect(getEventListeners(controller.signal, "abort")).toEqual([])
    expect(clock.pending).toBe(0)
    expect((await limiter.peek("key")).allowed).toBe(true)
  })

  it("lets the next one move up, first or not", async () => {
    const { clock, limiter, passed, wait, advance } = setUp()
    await limiter.check("key")
    const [first, middle] = [new AbortController(), new AbortController()]
    void wait("a", "key", { signal: first.signal }).catch(() => {})
    void wait("b", "key", { signal: middle.signal }).catch(() => {})
    void wait("c")
    await settle()
    middle.abort()
    await settle()
    first.abort()
    await settle()
    expect(clock.pending).toBe(1)
    await advance(100)
    expect(passed.filter(([name]) => !name.includes("rejected"))).toEqual([["c", 100]])
    expect(clock.pending).toBe(0)
  })

  it("charges nothing", async () => {
    const { limiter, wait, advance } = setUp({ burst: 3 })
    await limiter.check("key", { cost: 3 })
    const controller = new AbortController()
    void wait("a", "key", { cost: 3, signal: controller.signal }).catch(() => {})
    await settle()
    controller.abort()
    await advance(300)
    expect((await limiter.peek("key")).remaining).toBe(3)
  })

  it("does nothing once it has come through", async () => {
    const { limiter } = setUp()
    const controller = new AbortController()
    const decision = await limiter.wait("key", { signal: controller.signal })
    controller.abort()
    await settle()
    expect(decision.allowed).toBe(true)
  })
})

it("a store that fails ends the wait with its error", async () => {
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const limiter = createLimiter({ store, clock, limit: 1, window: "1s" })
  await limiter.check("key")
  const waiting = limiter.wait("key")
  await settle()
  await store.close()
  clock.advance(2_000)
  await expect(waiting).rejects.toMatchObject({ code: "STORE_CLOSED" })
  expect(clock.pending).toBe(0)
})
