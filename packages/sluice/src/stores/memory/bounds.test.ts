import { describe, expect, it } from "vitest"
import { createLimiter } from "../../limiter/limiter.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { type Charge, Namespace } from "../store.js"
import { memoryStore } from "./memory-store.js"

function chargesOf(
  limit: LimitOptions,
  namespace = new Namespace("bounds"),
): (key: string, cost?: number) => Charge {
  const policy = compilePolicy(limit, "bounds")
  return (key, cost = 1) => ({ namespace, key, policy, cost })
}

const variants: LimitOptions[] = [
  { algorithm: "fixed-window", limit: 10, window: "1h" },
  { algorithm: "sliding-window-log", limit: 10, window: "1h" },
  { algorithm: "sliding-window-counter", limit: 10, window: "1h" },
  { algorithm: "sliding-window-counter", limit: 10, window: "1h", buckets: 6 },
  { algorithm: "token-bucket", limit: 10, window: "1h" },
  { algorithm: "leaky-bucket", limit: 10, window: "1h", overflow: "queue" },
  { algorithm: "gcra", limit: 10, window: "1h", maxBurst: 9 },
]

describe.each(variants)("a flood of new keys under $algorithm", (limit) => {
  it("pushes out idle keys, never one that is denied or more than half used", () => {
    const store = memoryStore({ maxKeys: 1_000, clock: new ManualClock() })
    const charge = chargesOf(limit)
    for (let i = 0; i < 200; i++) store.checkSync([charge(`denied ${i}`, 10)])
    for (let i = 0; i < 200; i++) store.checkSync([charge(`half ${i}`, 6)])
    for (let i = 0; i < 600; i++) store.checkSync([charge(`idle ${i}`, 5)])
    for (let i = 0; i < 20_000; i++) {
      const { allowed } = store.checkSync([charge(`flood ${i}`)])
      if (!allowed || store.stats.keys > 1_000)
        expect.fail(`flood ${i}: ${allowed}, ${store.stats.keys} keys`)
    }
    for (let i = 0; i < 200; i++) {
      expect(store.checkSync([charge(`denied ${i}`)]).allowed).toBe(false)
      expect(store.checkSync([charge(`half ${i}`, 0)]).verdicts[0]?.remaining).toBe(4)
    }
    expect(store.stats).toMatchObject({ keys: 1_000, evicted: 20_000, refused: 0 })
  })

  it.each(["deny", "allow"] as const)("is answered with %s when nothing may go", (onFull) => {
    const store = memoryStore({ maxKeys: 500, onFull, clock: new ManualClock() })
    const charge = chargesOf(limit)
    for (let i = 0; i < 500; i++) store.checkSync([charge(`held ${i}`, 6 + (i % 5))])
    const bytes = store.stats.bytes
    for (let i = 0; i < 2_000; i++) {
      const single = charge(`flood ${i}`, 2)
      const { allowed, verdicts, degraded } = store.checkSync([single])
      expect([allowed, degraded]).toEqual([onFull === "allow", onFull])
      const verdict = { ...store.checkOneSync(single.namespace, single.key, single.policy, single.cost) }
      expect(verdict).toMatchObject({ ...verdicts[0], allowed, degraded })
      if (onFull === "deny") expect(verdict).toMatchObject({ remaining: 0, retryAfter: expect.any(Number) })
      if (onFull === "deny") expect(verdict.retryAfter).toBeGreaterThan(0)
    }
    expect(store.stats).toEqual({ keys: 500, bytes, evicted: 0, refused: 4_000 })
    for (let i = 0; i < 500; i++) {
      const outcome = store.checkSync([charge(`held ${i}`, 0)])
      expect(outcome.degraded).toBeUndefined()
      expect(outcome.verdicts[0]?.remaining).toBe(4 - (i % 5))
    }
  })
})

describe("a full store", () => {
  it("still decides properly for the keys it holds", () => {
    const store = memoryStore({ maxKeys: 100, clock: new ManualClock() })
    const charge = chargesOf({ limit: 10, window: "1h" })
    for (let i = 0; i < 100; i++) store.checkSync([charge(`held ${i}`, 8)])
    for (let i = 0; i < 100; i++) {
      expect(store.checkSync([charge(`held ${i}`, 2)])).toMatchObject({ allowed: true, degraded: undefined })
      expect(store.checkSync([charge(`held ${i}`)])).toMatchObject({ allowed: false, degraded: undefined })
    }
  })

  it("does not count a check of cost 0 or a denial as refused", () => {
    const store = memoryStore({ maxKeys: 10, clock: new ManualClock() })
    const charge = chargesOf({ limit: 10, window: "1h" })
    for (let i = 0; i < 10; i++) store.checkSync([charge(`held ${i}`, 10)])
    expect(store.checkSync([charge("new", 0)])).toMatchObject({ allowed: true, degraded: undefined })
    expect(store.checkSync([charge("new", 11)])).toMatchObject({ allowed: false, degraded: undefined })
    expect(store.checkSync([charge("held 3")])).toMatchObject({ allowed: false, degraded: undefined })
    expect(store.stats.refused).toBe(0)
  })

  it("takes new keys again once old ones have expired", () => {
    const clock = new ManualClock()
    const store = memoryStore({ maxKeys: 1_000, clock })
    const charge = chargesOf({ algorithm: "fixed-window", limit: 1, window: "1m" })
    for (let i = 0; i < 1_000; i++) store.checkSync([charge(`old ${i}`)])
    expect(store.checkSync([charge("new")])).toMatchObject({ allowed: false, degraded: "deny" })
    clock.advance(60_000)
    for (let i = 0; i < 1_000; i++) expect(store.checkSync([charge(`new ${i}`)]).allowed).toBe(true)
    expect(store.stats.keys).toBe(1_000)
  })

  it("finds the one key that may go among those that may not", () => {
    const store = memoryStore({ maxKeys: 5_000, clock: new ManualClock() })
    const charge = chargesOf({ limit: 10, window: "1h" })
    for (let i = 0; i < 4_999; i++) store.checkSync([charge(`held ${i}`, 10)])
    store.checkSync([charge("idle")])
    expect(store.checkSync([charge("new")])).toMatchObject({ allowed: true, degraded: undefined })
    expect(store.stats).toMatchObject({ keys: 5_000, evicted: 1 })
  })

  it("of several charges on new keys takes all or none", () => {
    const store = memoryStore({ maxKeys: 10, clock: new ManualClock() })
    const charge = chargesOf({ limit: 10, window: "1h" })
    const other = chargesOf({ algorithm: "token-bucket", limit: 10, window: "1h" }, new Namespace("other"))
    for (let i = 0; i < 9; i++) store.checkSync([charge(`held ${i}`, 10)])
    expect(store.checkSync([charge("new"), other("new")])).toMatchObject({ allowed: false, degraded: "deny" })
    expect(store.stats).toMatchObject({ keys: 9, refused: 1 })
    expect(store.checkSync([charge("new", 6)])).toMatchObject({ allowed: true, degraded: undefined })
    expect(store.stats).toMatchObject({ keys: 10, refused: 1 })
  })

  it("never holds more than maxKeys, also when a check finds one key and brings another", () => {
    const store = memoryStore({ maxKeys: 50, clock: new ManualClock() })
    const charge = chargesOf({ limit: 10, window: "1h" })
    const other = chargesOf({ algorithm: "token-bucket", limit: 10, window: "1h" }, new Namespace("other"))
    for (let i = 0; i < 50; i++) store.checkSync([charge(`key ${i}`)])
    for (let i = 0; i < 5_000; i++) {
      store.checkSync([charge(`key ${i % 60}`), other(`key ${i % 70}`)])
      expect(store.stats.keys).toBeLessThanOrEqual(50)
    }
  })

  it("counts the same new key twice in one check as one", () => {
    const store = memoryStore({ maxKeys: 1 })
    const charge = chargesOf({ limit: 10, window: "1h" })
    expect(store.checkSync([charge("key", 2), charge("key", 3)])).toMatchObject({
      allowed: true,
      degraded: undefined,
    })
    expect(store.checkSync([charge("key", 0)]).verdicts[0]?.remaining).toBe(5)
  })

  it("shares its bound over all namespaces", () => {
    const store = memoryStore({ maxKeys: 300, clock: new ManualClock() })
    const namespaces = Array.from({ length: 30 }, (_, i) =>
      chargesOf({ limit: 10, window: "1h" }, new Namespace(`${i}`)),
    )
    for (let i = 0; i < 30_000; i++) {
      const charge = namespaces[i % 30] as (key: string) => Charge
      if (!store.checkSync([charge(`key ${i}`)]).allowed) expect.fail(`key ${i} was denied`)
    }
    expect(store.stats.keys).toBeLessThanOrEqual(300)
  })

  it("works with room for a single key", () => {
    const store = memoryStore({ maxKeys: 1, clock: new ManualClock() })
    const charge = chargesOf({ limit: 10, window: "1h" })
    for (let i = 0; i < 100; i++) {
      expect(store.checkSync([charge(`key ${i}`, 3)]).verdicts[0]?.remaining).toBe(7)
      expect(store.stats.keys).toBe(1)
    }
  })
})

describe("blocks and floods", () => {
  function limiterOn(maxKeys: number) {
    const clock = new ManualClock()
    const store = memoryStore({ maxKeys, clock })
    const limiter = createLimiter({ store, clock, limit: 10, window: "1h" })
    return { clock, store, limiter }
  }

  it("a block survives a flood of new keys", async () => {
    const { clock, store, limiter } = limiterOn(500)
    for (let i = 0; i < 100; i++) await limiter.block(`bad ${i}`, "1h")
    for (let i = 0; i < 10_000; i++) limiter.checkSync(`flood ${i}`)
    for (let i = 0; i < 100; i++) {
      expect(limiter.checkSync(`bad ${i}`)).toMatchObject({ allowed: false, deniedBy: "block" })
    }
    expect(store.stats.keys).toBe(500)
    clock.advance(3_600_000)
    for (let i = 0; i < 100; i++) expect(limiter.checkSync(`bad ${i}`).allowed).toBe(true)
  })

  it("a key is blocked although the store is full of keys that may not go", async () => {
    const { limiter } = limiterOn(100)
    for (let i = 0; i < 100; i++) limiter.checkSync(`held ${i}`, { cost: 10 })
    await limiter.block("bad", "1h")
    expect(limiter.checkSync("bad")).toMatchObject({ allowed: false, deniedBy: "block" })
  })

  it("a client cannot flood its own counter out", () => {
    const { limiter } = limiterOn(1_000)
    let passed = 0
    for (let i = 0; i < 50_000; i++) {
      if (limiter.checkSync("attacker").allowed) passed++
      limiter.checkSync(`decoy ${i}`)
      // Six at once, so that it is more than half used when the flood begins.
      if (i === 0) for (let j = 0; j < 5; j++) if (limiter.checkSync("attacker").allowed) passed++
    }
    expect(passed).toBe(10)
  })
})
