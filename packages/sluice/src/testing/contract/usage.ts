// What a store reports about the usage of a key. A store may leave this out, or answer undefined.

import type { LimitOptions } from "../../policy.js"
import type { Store, Usage } from "../../stores/store.js"
import { Counter, type DefineTest, second } from "./counter.js"
import { expectSame } from "./expect.js"

export function usage(test: DefineTest): void {
  const trial = (
    name: string,
    limit: LimitOptions,
    body: (counter: Counter, usageAt: (seconds: number) => Promise<Usage | undefined>) => Promise<void>,
  ) =>
    test(name, async (store: Store) => {
      const counter = new Counter(store, limit)
      if ((await store.usage?.([counter.charge()], second(0))) === undefined) return
      await body(counter, async (seconds) => {
        return (await store.usage?.([counter.charge()], second(seconds)))?.[0]
      })
    })
  const log: LimitOptions = { algorithm: "sliding-window-log", limit: 10, window: "60s" }

  trial("a log: units, and when the oldest and the newest were charged", log, async (counter, usageAt) => {
    expectSame(await usageAt(0), { used: 0 }, "unused")
    await counter.check(second(1), 2)
    expectSame(await usageAt(2), { used: 2, oldest: second(1), newest: second(1) }, "one charge")
    await counter.check(second(5), 3)
    await counter.check(second(9))
    expectSame(await usageAt(10), { used: 6, oldest: second(1), newest: second(9) }, "three charges")
    expectSame(await usageAt(62), { used: 4, oldest: second(5), newest: second(9) }, "the oldest has left")
    expectSame(await usageAt(70), { used: 0 }, "all have left")
  })

  trial("a log that was charged beyond its limit", log, async (counter, usageAt) => {
    await counter.check(second(1), 8)
    await counter.store.charge([counter.charge(30)], second(3))
    expectSame(await usageAt(4), { used: 38, oldest: second(1), newest: second(3) }, "beyond the limit")
  })

  const counterLimit: LimitOptions = { algorithm: "sliding-window-counter", limit: 10, window: "60s" }
  trial(
    "a counter with one bucket: this window and the one before",
    counterLimit,
    async (counter, usageAt) => {
      expectSame(await usageAt(0), { used: 0, buckets: [] }, "unused")
      await counter.check(second(10), 4)
      const before = { start: second(0), length: 60e6, units: 4 }
      expectSame(await usageAt(20), { used: 4, buckets: [before] }, "one window")
      await counter.check(second(90), 3)
      const now = { start: second(60), length: 60e6, units: 3 }
      expectSame(await usageAt(90), { used: 5, buckets: [now, before] }, "half of the window before counts")
      expectSame(await usageAt(130), { used: 2, buckets: [now] }, "the first window has left")
    },
  )

  const buckets: LimitOptions = { ...counterLimit, buckets: 6 }
  trial("a counter with several buckets: those with units", buckets, async (counter, usageAt) => {
    await counter.check(second(1), 2)
    await counter.check(second(35), 5)
    const entries = [
      { start: second(30), length: 10e6, units: 5 },
      { start: second(0), length: 10e6, units: 2 },
    ]
    expectSame(await usageAt(40), { used: 7, buckets: entries }, "two of six buckets")
  })

  const fixed: LimitOptions = { algorithm: "fixed-window", limit: 10, window: "60s" }
  trial("a fixed window: its start and its units", fixed, async (counter, usageAt) => {
    await counter.check(second(70), 4)
    const bucket = { start: second(60), length: 60e6, units: 4 }
    expectSame(await usageAt(80), { used: 4, buckets: [bucket] }, "in the window")
    expectSame(await usageAt(120), { used: 0, buckets: [] }, "in the next window")
  })

  const tokens: LimitOptions = { algorithm: "token-bucket", limit: 60, window: "60s", burst: 10 }
  trial("a bucket: units, rounded up", tokens, async (counter, usageAt) => {
    await counter.check(second(0), 4)
    expectSame(await usageAt(0.5), { used: 4 }, "half a unit has drained")
    expectSame(await usageAt(1), { used: 3 }, "one unit has drained")
  })

  trial("is read without a charge", counterLimit, async (counter, usageAt) => {
    await counter.check(second(1))
    const before = await counter.peek(second(2))
    await usageAt(2)
    expectSame(await counter.peek(second(2)), before, "unchanged")
  })
}
