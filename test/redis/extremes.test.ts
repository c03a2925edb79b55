import { memoryStore, type Store } from "sluice"
import { expect, it } from "vitest"
import { Counter, times, useRedis } from "./one-server.js"

const redis = useRedis()
const AT = Date.UTC(2026, 0, 1) * 1000

/** Runs the same calls on both stores, all at once on Redis, and compares the answers. */
async function expectSame(ask: (store: Store) => Promise<unknown>[]): Promise<void> {
  const store = await redis.store({ expiryBuffer: "1d" })
  const expected = await Promise.all(ask(redis.later(memoryStore({ clock: { now: () => 0 } }))))
  expect(await Promise.all(ask(store))).toEqual(expected)
}

it("a window cut into 3,600 buckets, many keys in one call", async () => {
  await expectSame((store) => {
    const counter = new Counter(store, {
      algorithm: "sliding-window-counter",
      limit: 5_000,
      window: "1h",
      buckets: 3_600,
    })
    return times(64, (i) => counter.check(AT + i * 59_999_999, 1 + i * 7, `key ${i % 16}`))
  })
})

it("windows from a microsecond to ten years", async () => {
  for (const window of [0.001, 0.999, 0.5, 86_400_000 * 365, 3_652 * 86_400_000]) {
    await expectSame((store) => {
      const limits = (["fixed-window", "sliding-window-log", "sliding-window-counter", "gcra"] as const).map(
        (algorithm) => new Counter(store, { algorithm, limit: 3, window }),
      )
      return limits.flatMap((counter) => times(10, (i) => counter.check(AT + i, 1)))
    })
  }
})

it("limits up to 2^50", async () => {
  await expectSame((store) => {
    const limits = (["fixed-window", "sliding-window-log", "sliding-window-counter"] as const).map(
      (algorithm) => new Counter(store, { algorithm, limit: 2 ** 50, window: "30d" }),
    )
    return limits.flatMap((counter) =>
      times(9, (i) => counter.check(AT + i * 1e12, 2 ** 48 + i * 1_234_567_891)),
    )
  })
})

it("a log of 5,000 entries, searched and pruned", async () => {
  await expectSame((store) => {
    const counter = new Counter(store, { algorithm: "sliding-window-log", limit: 12_000, window: "1m" })
    const fill = times(5_000, (i) => counter.check(AT + i * 11, 1 + (i % 3)))
    const search = times(500, (i) => counter.check(AT + 55_000 + i, 2_000 + 19 * i))
    const prune = times(500, (i) => counter.check(AT + 60_000_000 + i * 100, 1))
    return [...fill, ...search, ...prune]
  })
})

it("keys of 100,000 characters", async () => {
  await expectSame((store) => {
    const counter = new Counter(store, { algorithm: "gcra", limit: 2, window: "1h" })
    return times(6, (i) => counter.check(AT, 1, "漢".repeat(100_000) + (i % 2)))
  })
})
