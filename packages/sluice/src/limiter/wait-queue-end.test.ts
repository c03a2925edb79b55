// How a wait ends when the request is held by a queueing bucket or the limiter is closed.

import { describe, expect, it } from "vitest"
import { memoryStore } from "../stores/memory/memory-store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"
import { settle, setUp } from "./wait-queue.test-support.js"

describe("wait on a leaky bucket that queues", () => {
  const queue = { algorithm: "leaky-bucket", burst: 3, overflow: "queue" } as const

  it("holds each request for its delay, so that they leave evenly spaced", async () => {
    const { clock, passed, wait, advance } = setUp(queue)
    for (const name of ["a", "b", "c"]) void wait(name)
    await settle()
    expect(passed).toEqual([["a", 0]])
    for (let i = 0; i < 4; i++) await advance(50)
    expect(passed).toEqual([
      ["a", 0],
      ["b", 100],
      ["c", 200],
    ])
    expect(clock.pending).toBe(0)
  })

  it("waits for a place in a full queue, and then for its turn in it", async () => {
    const { passed, wait, advance } = setUp(queue)
    for (const name of ["a", "b", "c", "d"]) void wait(name)
    await settle()
    for (let i = 0; i < 30; i++) await advance(10)
    expect(passed).toEqual([
      ["a", 0],
      ["b", 100],
      ["c", 200],
      ["d", 300],
    ])
  })

  it("frees the place of a client that gives up while it is held", async () => {
    const { clock, limiter, wait } = setUp(queue)
    const controller = new AbortController()
    void wait("a")
    const held = wait("b", "key", { signal: controller.signal })
    await settle()
    expect((await limiter.peek("key")).remaining).toBe(1)
    controller.abort(new Error("gone"))
    await expect(promptly(held)).rejects.toThrow("gone")
    expect(clock.pending).toBe(0)
    await settle()
    expect((await limiter.peek("key")).remaining).toBe(2)
  })

  it("takes no more than maxWaitMs, the delay included", async () => {
    const { clock, limiter, wait } = setUp(queue)
    void wait("a")
    void wait("b")
    await settle()
    const decision = await promptly(limiter.wait("key", { maxWaitMs: 150 }))
    expect(decision.allowed).toBe(false)
    // Nobody is held for it, and its place is free again.
    expect((await limiter.peek("key")).remaining).toBe(1)
    expect(clock.pending).toBe(1)
  })
})

describe("closing the limiter", () => {
  it("rejects every wait and leaves no timer", async () => {
    const { clock, limiter, wait } = setUp()
    await limiter.check("one")
    await limiter.check("two")
    const waits = [wait("a", "one"), wait("b", "one", { maxWaitMs: 5_000 }), wait("c", "two")]
    await settle()
    await limiter.close()
    for (const waiting of waits) await expect(waiting).rejects.toMatchObject({ code: "LIMITER_CLOSED" })
    expect(clock.pending).toBe(0)
  })

  it("rejects requests that a queueing bucket holds", async () => {
    const { clock, limiter, wait } = setUp({ algorithm: "leaky-bucket", burst: 3, overflow: "queue" })
    const waits = [wait("a"), wait("b"), wait("c")]
    await settle()
    await limiter.close()
    await waits[0]
    for (const waiting of waits.slice(1)) {
      await expect(promptly(waiting)).rejects.toMatchObject({ code: "LIMITER_CLOSED" })
    }
    expect(clock.pending).toBe(0)
  })

  it("charges nothing for the requests that are rejected", async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const options = { store, clock, algorithm: "token-bucket", limit: 10, window: "1s", burst: 2 } as const
    const limiter = createLimiter(options)
    await limiter.check("key", { cost: 2 })
    const waits = [limiter.wait("key", { cost: 2 }), limiter.wait("key"), limiter.wait("key")]
    await settle()
    clock.advance(150)
    await Promise.all([limiter.close(), ...waits.map((waiting) => waiting.catch(() => {}))])
    await settle()
    expect((await createLimiter(options).peek("key")).remaining).toBe(1)
  })
})

/** Fails when a promise is still open although everything that it could wait for has happened. */
async function promptly<T>(promise: Promise<T>): Promise<T> {
  const late = settle().then(() => {
    throw new Error("still waiting")
  })
  return Promise.race([promise, late])
}
