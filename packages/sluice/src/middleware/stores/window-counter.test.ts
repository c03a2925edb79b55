import { expect, it } from "vitest"
import { StoreGuard } from "../../stores/fallback/store-guard.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import type { Store } from "../../stores/store.js"
import { WindowCounter } from "./window-counter.js"

/** A store of three instances that is down. */
function downStore(): Store {
  const store = memoryStore()
  const down = (): Promise<never> => Promise.reject(new Error("down"))
  return new StoreGuard({
    check: down,
    decide: down,
    checkMany: down,
    charge: down,
    refund: down,
    settle: down,
    reset: down,
    mayBlock: (namespace) => store.mayBlock(namespace),
    instances: 3,
    close: () => store.close(),
  })
}

it("multiplies the local count by the number of instances while the store is down", async () => {
  const counter = new WindowCounter({ store: downStore() })
  const counts: number[] = []
  for (let i = 0; i < 3; i++) counts.push((await counter.increment("a", 60_000)).count)
  expect(counts).toEqual([3, 6, 9])
})

it("follows onStoreFailure while the store is down", async () => {
  const allow = new WindowCounter({ store: downStore(), onStoreFailure: "allow" })
  expect((await allow.increment("a", 60_000)).count).toBeLessThanOrEqual(1)
  const deny = new WindowCounter({ store: downStore(), onStoreFailure: "deny" })
  expect((await deny.increment("a", 60_000)).count).toBeGreaterThan(1e9)
})

it("keeps separate counts for windows of different lengths", async () => {
  const counter = new WindowCounter({})
  await counter.increment("a", 1_000)
  expect((await counter.increment("a", 2_000)).count).toBe(1)
  expect((await counter.read("a", 1_000)).count).toBe(1)
  await counter.close()
})
