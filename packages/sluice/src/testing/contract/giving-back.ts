// refund, reset, and the end of a store.

import { compilePolicy, type LimitOptions } from "../../policy.js"
import type { Store } from "../../stores/store.js"
import { Counter, type DefineTest, second } from "./counter.js"
import { expectFields, expectRejection, expectSame } from "./expect.js"
import { CAPACITY, variants } from "./policies.js"

export function givingBack(test: DefineTest): void {
  for (const { title, limit } of variants) {
    test(`${title}: a refund gives back at most what is charged`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(3), 6)
      await store.refund([counter.charge(2)], second(3))
      expectFields(await counter.peek(second(3)), { remaining: 6 }, "4 charged")
      await store.refund([counter.charge(1_000)], second(3))
      expectFields(await counter.peek(second(3)), { remaining: CAPACITY }, "all given back, and no more")
      expectFields(
        await counter.check(second(3), CAPACITY),
        { allowed: true, remaining: 0 },
        "exactly the capacity",
      )
      expectFields(await counter.check(second(3)), { allowed: false }, "one more")
    })

    test(`${title}: a refund of 0 changes nothing`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(3), 6)
      const before = await counter.peek(second(9))
      await store.refund([counter.charge(0)], second(9))
      expectSame(await counter.peek(second(9)), before, "after it")
    })

    test(`${title}: a refund on a key unused or expired does nothing`, async (store) => {
      const counter = new Counter(store, limit)
      await store.refund([counter.charge(5, "unused")], second(1))
      await counter.check(second(1), 5, "expired")
      await store.refund([counter.charge(5, "expired")], second(600))
      const fresh = await counter.check(second(607), 3, "fresh")
      for (const key of ["unused", "expired"]) {
        expectSame(await counter.check(second(607), 3, key), fresh, `the next check on a key ${key}`)
      }
    })

    test(`${title}: reset forgets a key and only that`, async (store) => {
      const counter = new Counter(store, limit)
      for (const key of ["gone", "kept"]) await counter.check(second(1), CAPACITY, key)
      await store.reset([counter.charge(1, "gone")])
      expectFields(
        await counter.peek(second(2), "gone"),
        { remaining: CAPACITY, resetAfter: 0 },
        "the key reset",
      )
      expectFields(await counter.check(second(2), 1, "kept"), { allowed: false }, "another key")
      await store.reset([
        counter.charge(1, "gone"),
        counter.charge(1, "kept"),
        counter.charge(1, "never there"),
      ])
      expectFields(await counter.peek(second(2), "kept"), { remaining: CAPACITY }, "the other key, reset too")
    })
  }

  /** Charges 6 at second 3 and 2 at another time, then hands back the 6. */
  const handBack = async (store: Store, limit: LimitOptions, at: number, chargedAt = second(3)) => {
    const counter = new Counter(store, limit)
    await counter.check(second(3), 6)
    await counter.check(at, 2)
    await store.refund([{ ...counter.charge(6), chargedAt }], at)
    return (await counter.peek(at)).remaining
  }

  for (const { title, limit } of variants) {
    test(`${title}: a refund of units charged at a time gives back all of them at that time`, async (store) => {
      expectSame(await handBack(store, limit, second(3)), 8, "remaining")
    })
  }

  for (const { title, limit } of variants.filter(
    ({ limit }) => limit.limit === 10 && compilePolicy(limit, "").token > 0,
  )) {
    test(`${title}: a refund of units charged at a time gives back what has not drained since`, async (store) => {
      expectSame(await handBack(store, limit, second(15)), 8, "remaining after 2 of 6 have drained")
      expectSame(await handBack(store, limit, second(16)), 7, "remaining when part of a third has drained")
      expectSame(await handBack(store, limit, second(50)), 8, "remaining after all have drained")
    })
  }

  test("sliding-window-log: a refund of units charged at a time takes the entry of that time only", async (store) => {
    const limit = { algorithm: "sliding-window-log", limit: 10, window: "1m" } as const
    expectSame(await handBack(store, limit, second(9)), 8, "remaining")
    expectSame(await handBack(store, limit, second(9), second(4)), 2, "nothing was charged then")
    expectSame(await handBack(store, limit, second(63)), 8, "the units have left the window")
  })

  test("fixed-window: a refund of units charged at a time takes nothing from a later window", async (store) => {
    const limit = { algorithm: "fixed-window", limit: 10, window: "1m" } as const
    expectSame(await handBack(store, limit, second(9)), 8, "remaining in the same window")
    expectSame(await handBack(store, limit, second(63)), 8, "remaining in the next window")
    expectSame(await handBack(store, { ...limit, anchor: "first-request" }, second(62)), 8, "the same window")
    expectSame(await handBack(store, { ...limit, anchor: "first-request" }, second(64)), 8, "the next window")
  })

  test("sliding-window-counter: a refund of units charged at a time takes the bucket of that time only", async (store) => {
    const limit = { algorithm: "sliding-window-counter", limit: 10, window: "1m" } as const
    expectSame(await handBack(store, limit, second(63)), 8, "remaining")
    expectSame(await handBack(store, { ...limit, buckets: 6 }, second(33)), 8, "remaining")
    expectSame(await handBack(store, { ...limit, buckets: 6 }, second(33), second(13)), 2, "another bucket")
  })

  test("refund, charge and reset take several charges at once", async (store) => {
    const counters = variants.map(({ limit }) => new Counter(store, limit))
    const left = async () => {
      const { verdicts } = await store.check(
        counters.map((counter) => counter.charge(0)),
        second(3),
      )
      return [...new Set(verdicts.map((verdict) => verdict.remaining))]
    }
    await store.charge(
      counters.map((counter) => counter.charge(5)),
      second(3),
    )
    expectSame(await left(), [5], "after charging 5")
    await store.refund(
      counters.map((counter) => counter.charge(2)),
      second(3),
    )
    expectSame(await left(), [7], "after giving back 2")
    await store.reset(counters.map((counter) => counter.charge(1)))
    expectSame(await left(), [CAPACITY], "after a reset")
  })

  test("every call after close fails with STORE_CLOSED", async (store) => {
    const counter = new Counter(store, { limit: 5, window: "1m" })
    const charges = [counter.charge()]
    await store.check(charges, second(1))
    await store.close()
    for (const at of [undefined, second(2)]) {
      const when = at === undefined ? "by the store's clock" : "at a given time"
      await expectRejection(() => store.check(charges, at), "STORE_CLOSED", `check ${when}`)
      await expectRejection(() => store.decide(charges, at), "STORE_CLOSED", `decide ${when}`)
      await expectRejection(() => store.checkMany([{ charges, at }]), "STORE_CLOSED", `checkMany ${when}`)
      await expectRejection(() => store.charge(charges, at), "STORE_CLOSED", `charge ${when}`)
      await expectRejection(() => store.refund(charges, at), "STORE_CLOSED", `refund ${when}`)
      const settlements = charges.map((charge) => ({ ...charge, correction: "refund" as const }))
      await expectRejection(() => store.settle(settlements, at), "STORE_CLOSED", `settle ${when}`)
    }
    await expectRejection(() => store.reset(charges), "STORE_CLOSED", "reset")
    await store.close()
  })
}
