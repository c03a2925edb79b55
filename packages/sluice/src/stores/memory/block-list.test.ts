import { describe, expect, it } from "vitest"
import { blockPolicy } from "../../algorithms/block.js"
import { createLimiter } from "../../limiter/limiter.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { MAX_LISTED, Namespace } from "../store.js"
import { memoryStore } from "./memory-store.js"

const PENALTY = { after: 2, within: "10s", block: "1m", factor: 2 }

function limiterOn(prefix: string, clock: ManualClock, store = memoryStore({ clock })) {
  const limits = [{ name: "login", limit: 1, window: "1s", penalty: PENALTY }]
  return { store, limiter: createLimiter({ limits, prefix, store, clock }) }
}

describe("the list of blocked keys in memory", () => {
  it("has the keys that penalties and users have blocked, until their blocks end", async () => {
    const clock = new ManualClock()
    const { store, limiter } = limiterOn("app", clock)
    expect(await store.blocked("app", 10)).toEqual({ keys: [], isComplete: true })
    const since = clock.now() * 1000
    for (let i = 0; i < 3; i++) await limiter.check("ann")
    await limiter.block("bob", "2m")
    expect(await store.blocked("app", 10)).toEqual({
      keys: [
        { namespace: "app:block", key: "bob", since, until: since + 120_000_000, blocks: 0 },
        { namespace: "app:sc:login:penalty", key: "ann", since, until: since + 60_000_000, blocks: 1 },
      ],
      isComplete: true,
    })
    expect(await store.blocked("app", 1)).toMatchObject({ keys: [{ key: "bob" }], isComplete: false })
    expect((await store.blocked("other", 10)).keys).toEqual([])
    await limiter.unblock("bob")
    expect((await store.blocked("app", 10)).keys).toMatchObject([{ key: "ann" }])
    clock.advance(60_000)
    expect(await store.blocked("app", 10)).toEqual({ keys: [], isComplete: true })
  })

  it("is bounded, and leaves out the blocks that end first", async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const namespace = new Namespace("app:block", "app")
    const charges = Array.from({ length: MAX_LISTED + 1 }, (_, i) => {
      return { namespace, key: `key ${i}`, policy: blockPolicy, cost: 1_000_000 + i }
    })
    await store.charge(charges)
    const { keys, isComplete } = await store.blocked("app", 2 * MAX_LISTED)
    expect(keys.length).toBeGreaterThan(MAX_LISTED / 2)
    expect(keys.length).toBeLessThanOrEqual(MAX_LISTED)
    expect(keys[0]).toMatchObject({ key: `key ${MAX_LISTED}` })
    expect(isComplete).toBe(false)
    await store.close()
  })

  it("leaves out a key that is too long, and says so", async () => {
    const clock = new ManualClock()
    const { store, limiter } = limiterOn("app", clock)
    await limiter.block("k".repeat(5_000), "1m")
    expect(await store.blocked("app", 10)).toEqual({ keys: [], isComplete: false })
  })
})
