// refund, reset, and the end of a store.

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
    }
    await expectRejection(() => store.reset(charges), "STORE_CLOSED", "reset")
    await store.close()
  })
}
