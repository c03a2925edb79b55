import { expect, it } from "vitest"
import { StoreGuard } from "../../stores/fallback/store-guard.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import type { Store } from "../../stores/store.js"
import { TallyCounter } from "./tally.js"

/** A store of three instances that is away. */
function awayStore(): Store {
  const store = memoryStore()
  const away = (): Promise<never> => Promise.reject(new Error("away"))
  return new StoreGuard({
    check: away,
    decide: away,
    checkMany: away,
    charge: away,
    refund: away,
    reset: away,
    mayBlock: (namespace) => store.mayBlock(namespace),
    instances: 3,
    close: () => store.close(),
  })
}

it("takes each request for as many as there are instances while the store is away", async () => {
  const counter = new TallyCounter({ store: awayStore() })
  const counts: number[] = []
  for (let i = 0; i < 3; i++) counts.push((await counter.add("a", 60_000)).count)
  expect(counts).toEqual([3, 6, 9])
})

it("counts as the way that was chosen says while the store is away", async () => {
  const allow = new TallyCounter({ store: awayStore(), onStoreFailure: "allow" })
  expect((await allow.add("a", 60_000)).count).toBeLessThanOrEqual(1)
  const deny = new TallyCounter({ store: awayStore(), onStoreFailure: "deny" })
  expect((await deny.add("a", 60_000)).count).toBeGreaterThan(1e9)
})

it("counts windows of different lengths by themselves", async () => {
  const counter = new TallyCounter({})
  await counter.add("a", 1_000)
  expect((await counter.add("a", 2_000)).count).toBe(1)
  expect((await counter.look("a", 1_000)).count).toBe(1)
  await counter.close()
})
