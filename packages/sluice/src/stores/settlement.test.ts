import { describe, expect, it } from "vitest"
import { createLimiter } from "../limiter/limiter.js"
import { compilePolicy } from "../policy.js"
import { ManualClock } from "../testing/manual-clock.js"
import { FlakyStore } from "./fallback/flaky-store.test-support.js"
import { StoreFailure } from "./fallback/store-failure.js"
import { StoreGuard } from "./fallback/store-guard.js"
import { newHoldId } from "./hold-id.js"
import { memoryStore } from "./memory/memory-store.js"
import { shardedStore } from "./sharded/sharded-store.js"
import { type Charge, Namespace, type Settlement } from "./store.js"

const away = new StoreFailure("timeout", "no answer within 50 ms", { ambiguous: true })
const rate = compilePolicy({ algorithm: "fixed-window", limit: 100, window: "1h" }, "")
const records = compilePolicy({ algorithm: "concurrency", limit: 9, hold: "1h" }, "")

function setUp() {
  const clock = new ManualClock()
  const store = new FlakyStore(memoryStore({ clock }))
  const guard = new StoreGuard(store, { clock })
  const limiter = createLimiter({
    name: "guarded",
    algorithm: "fixed-window",
    limit: 100,
    window: "1h",
    store: guard,
  })
  const left = async () => (await limiter.peek("key")).remaining
  return { store, guard, limiter, left }
}

describe("a reservation while the store fails", () => {
  it("is settled where it was charged: by local counters, also when the store is back", async () => {
    const { store, limiter, left } = setUp()
    await limiter.check("key", { cost: 50 })
    store.failure = away
    const decision = await limiter.reserve("key", { cost: 30 })
    expect(decision).toMatchObject({ allowed: true, degraded: "local", remaining: 20 })
    store.failure = undefined
    expect(await decision.reservation?.settle(10)).toBe(true)
    expect(await left()).toBe(50)
    store.failure = away
    expect(await left()).toBe(40)
  })

  it("charges and settles nothing with onStoreFailure allow", async () => {
    const { store, guard, left } = setUp()
    const open = { name: "guarded", algorithm: "fixed-window", limit: 100, window: "1h" } as const
    const limiter = createLimiter({ ...open, store: guard, onStoreFailure: "allow" })
    store.failure = away
    const { reservation } = await limiter.reserve("key", { cost: 30 })
    store.failure = undefined
    expect(await reservation?.settle(90)).toBe(true)
    expect(await left()).toBe(100)
  })

  it("keeps its estimate if nobody can settle it, and says so", async () => {
    const { store, guard, left } = setUp()
    const open = { name: "guarded", algorithm: "fixed-window", limit: 100, window: "1h" } as const
    const limiter = createLimiter({ ...open, store: guard, onStoreFailure: "deny" })
    const { reservation } = await limiter.reserve("key", { cost: 30 })
    store.failure = away
    expect(await reservation?.settle(0)).toBe(false)
    store.failure = undefined
    expect(await left()).toBe(70)
    expect(guard.stats.dropped).toBe(1)
  })

  it("with a hold to claim fails until the store answers, so that a repeated call settles it", async () => {
    const { store, guard } = setUp()
    const charge: Charge = { namespace: new Namespace("rate"), key: "key", policy: rate, cost: 30 }
    const record: Charge = {
      namespace: new Namespace("r"),
      key: "key",
      policy: records,
      cost: 1,
      hold: newHoldId(),
    }
    const { now } = await guard.check([charge, record])
    const settlements: Settlement[] = [
      { ...record, correction: "claim" },
      { ...charge, correction: "refund", chargedAt: now },
    ]
    store.failure = away
    expect((await guard.settle(settlements)).result).toBe("failed")
    store.failure = undefined
    expect((await guard.settle(settlements)).result).toBe("settled")
    expect((await guard.settle(settlements)).result).toBe("unknown")
    expect((await guard.check([{ ...charge, cost: 0 }])).verdicts[0]?.remaining).toBe(100)
  })
})

describe("a settlement over several nodes", () => {
  it("changes no node if the hold to claim has ended", async () => {
    const clock = new ManualClock()
    const store = shardedStore([memoryStore({ clock }), memoryStore({ clock })])
    const keyOn = (node: string) =>
      Array.from({ length: 99 }, (_, i) => `key ${i}`).find((key) => store.nodeOf(key) === node) as string
    const [a, b] = [keyOn("0"), keyOn("1")]
    const namespace = new Namespace("rate")
    const charges: Charge[] = [a, b].map((key) => ({ namespace, key, policy: rate, cost: 30 }))
    const record: Charge = {
      namespace: new Namespace("r"),
      key: b,
      policy: records,
      cost: 1,
      hold: newHoldId(),
    }
    const { allowed, now } = await store.check([...charges, record])
    expect(allowed).toBe(true)
    const settlements = [
      ...charges.map((charge): Settlement => ({ ...charge, correction: "refund", chargedAt: now })),
      { ...record, correction: "claim" } as const,
    ]
    const left = async () => {
      const { verdicts } = await store.check(charges.map((charge) => ({ ...charge, cost: 0 })))
      return verdicts.map(({ remaining }) => remaining)
    }
    expect((await store.settle(settlements)).result).toBe("settled")
    expect(await left()).toEqual([100, 100])
    await store.check(charges)
    expect((await store.settle(settlements)).result).toBe("unknown")
    expect(await left()).toEqual([70, 70])
    await store.close()
  })
})
