import { createLimiter, memoryStore, type Store } from "sluice"
import { describeStoreContract, ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import type { StoreBatch } from "./messages.js"
import { RemoteStore } from "./remote-store.js"
import { StoreOwner } from "./store-owner.js"

/** A worker's store whose messages are copied as they are between processes. */
function connected(store: Store, seen: StoreBatch[] = []): RemoteStore {
  const owner = new StoreOwner(store)
  const remote = new RemoteStore((batch) => {
    seen.push(batch)
    const { id } = batch
    void owner.answer(structuredClone(batch)).then((results) => remote.answer(id, structuredClone(results)))
  })
  return remote
}

describeStoreContract({
  name: "the store of a worker",
  open: () => connected(memoryStore()),
  describe,
  it,
})

it("sends all calls of a tick as one, with each policy once", async () => {
  const seen: StoreBatch[] = []
  const limiter = createLimiter({ limit: 5, window: "1m", store: connected(memoryStore(), seen) })
  await Promise.all(Array.from({ length: 100 }, (_, i) => limiter.check(`k${i}`)))
  expect(seen).toHaveLength(1)
  expect(seen[0]?.calls).toHaveLength(100)
  expect(seen[0]?.policies.length).toBeLessThanOrEqual(2)
})

it("lets several workers share one counter, exactly", async () => {
  const clock = new ManualClock()
  const store = memoryStore({ clock })
  const limiters = Array.from({ length: 4 }, () =>
    createLimiter({ limit: 50, window: "1m", algorithm: "sliding-window-log", store: connected(store) }),
  )
  const decisions = await Promise.all(
    Array.from({ length: 400 }, (_, i) => (limiters[i % 4] as (typeof limiters)[number]).check("key")),
  )
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50)
})

it("applies a block that another worker has just set", async () => {
  const store = memoryStore()
  const [one, other] = [0, 1].map(() => createLimiter({ limit: 5, window: "1m", store: connected(store) }))
  await one?.block("key", "1m")
  expect(await other?.check("key")).toMatchObject({ allowed: false, deniedBy: "block" })
})

it("rejects a call that the owner cannot answer, and answers the others", async () => {
  const store = memoryStore()
  const limiter = createLimiter({ limit: 5, window: "1m", store: connected(store) })
  await store.close()
  await expect(limiter.check("key")).rejects.toMatchObject({ code: "STORE_CLOSED" })
})
