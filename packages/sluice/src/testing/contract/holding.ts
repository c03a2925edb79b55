// Holds: acquired by a check, released and extended by their id.

import { newHoldId } from "../../stores/hold-id.js"
import type { Charge, Store } from "../../stores/store.js"
import { Counter, type DefineTest, second } from "./counter.js"
import { expectFields, expectSame } from "./expect.js"

const LIMIT = { algorithm: "concurrency", limit: 3, hold: "1m" } as const

export function holding(define: DefineTest): void {
  // A store without these calls takes no limits of concurrency, so no limiter acquires from it.
  const test: DefineTest = (name, body) =>
    define(name, async (store) => {
      if (store.release !== undefined && store.extend !== undefined) await body(store)
    })

  test("a released hold frees its units at once, and only once", async (store) => {
    const counter = new Counter(store, LIMIT)
    const [first, later] = [holdOf(counter, 2), holdOf(counter, 1)]
    await acquire(store, first, 0)
    await acquire(store, later, 1)
    expectFields(await counter.check(second(2)), { allowed: false, retryAfter: 58e6 }, "while all is held")
    expectSame(await store.release?.([first], second(3)), true, "the first release")
    expectFields(await counter.peek(second(3)), { remaining: 2, resetAfter: 58e6 }, "after it")
    expectSame(await store.release?.([first], second(3)), false, "the second release")
    expectFields(await counter.peek(second(3)), { remaining: 2 }, "after the second release")
    expectSame(await store.release?.([later], second(3)), true, "the other hold")
    expectFields(await counter.peek(second(3)), { remaining: 3, resetAfter: 0 }, "when nothing is held")
  })

  test("a hold that has ended cannot be released or extended, and its units are not taken from others", async (store) => {
    const counter = new Counter(store, LIMIT)
    const [late, other] = [holdOf(counter, 3), holdOf(counter, 3)]
    await acquire(store, late, 0)
    expectSame(await store.extend?.([late], second(60)), false, "extended at its end")
    await acquire(store, other, 60)
    expectSame(await store.release?.([late], second(61)), false, "released after its end")
    expectFields(await counter.peek(second(61)), { remaining: 0 }, "the other hold counts")
  })

  test("an extended hold ends one hold later, and others keep their end", async (store) => {
    const counter = new Counter(store, LIMIT)
    const [kept, extended] = [holdOf(counter, 1), holdOf(counter, 2)]
    await acquire(store, kept, 0)
    await acquire(store, extended, 0)
    expectSame(await store.extend?.([extended], second(30)), true, "extended")
    expectFields(await counter.peek(second(60)), { remaining: 1, resetAfter: 30e6 }, "the other has ended")
    expectFields(await counter.peek(second(90) - 1), { remaining: 1 }, "one µs before its new end")
    expectFields(await counter.peek(second(90)), { remaining: 3, resetAfter: 0 }, "at its new end")
  })

  test("several holds are extended together or not at all", async (store) => {
    const [a, b] = [new Counter(store, LIMIT), new Counter(store, LIMIT)]
    const holds = [holdOf(a, 1), holdOf(b, 1)]
    await store.check(holds, second(0))
    await store.release?.(holds.slice(1), second(1))
    expectSame(await store.extend?.(holds, second(30)), false, "one of them has ended")
    expectFields(await a.peek(second(30)), { remaining: 2, resetAfter: 30e6 }, "the other keeps its end")
    expectSame(await store.release?.(holds, second(31)), false, "released together")
    expectFields(await a.peek(second(31)), { remaining: 3 }, "the one that was held is free")
  })

  test("a denied check holds nothing, also beside a rate", async (store) => {
    const counter = new Counter(store, LIMIT)
    const rate = new Counter(store, { algorithm: "token-bucket", limit: 1, window: "1h" })
    const hold = holdOf(counter, 1)
    expectSame((await store.check([hold, rate.charge()], second(0))).allowed, true, "the first")
    const denied = holdOf(counter, 1)
    expectSame((await store.check([denied, rate.charge()], second(1))).allowed, false, "denied by the rate")
    expectFields(await counter.peek(second(1)), { remaining: 2 }, "one is held")
    expectSame(await store.release?.([denied], second(1)), false, "what was denied")
    await acquire(store, holdOf(counter, 2), 2)
    const other = new Counter(store, { algorithm: "token-bucket", limit: 5, window: "1h" })
    expectSame(
      (await store.check([holdOf(counter, 1), other.charge()], second(3))).allowed,
      false,
      "all held",
    )
    expectFields(await other.peek(second(3)), { remaining: 5 }, "the rate is charged nothing")
  })

  test("a refund with the id of a hold ends that hold", async (store) => {
    const counter = new Counter(store, LIMIT)
    const [first, last] = [holdOf(counter, 1), holdOf(counter, 1)]
    await acquire(store, first, 0)
    await acquire(store, last, 10)
    await store.refund([first], second(20))
    expectFields(await counter.peek(second(20)), { remaining: 2, resetAfter: 50e6 }, "the last is held")
    await store.refund([first], second(20))
    expectFields(await counter.peek(second(20)), { remaining: 2 }, "refunded twice")
  })

  test("a hold does not last longer than the new one after hold was shortened a lot", async (store) => {
    const counter = new Counter(store, { ...LIMIT, hold: "1h" })
    await acquire(store, holdOf(counter, 3), 0)
    const shorter = counter.under(LIMIT)
    expectFields(await shorter.check(second(10)), { allowed: false, retryAfter: 60e6 }, "cut to a minute")
    expectFields(await shorter.check(second(70) - 1), { allowed: false, retryAfter: 1 }, "one µs early")
    expectFields(await shorter.check(second(70)), { allowed: true }, "in time")
  })

  test("many holds of different sizes end one by one", async (store) => {
    const counter = new Counter(store, { ...LIMIT, limit: 300 })
    for (let i = 0; i < 24; i++) await acquire(store, holdOf(counter, i + 1), i)
    expectFields(await counter.check(second(24)), { allowed: false, retryAfter: 36e6 }, "for one unit")
    expectFields(await counter.check(second(24), 7), { allowed: false, retryAfter: 39e6 }, "for seven")
    expectFields(await counter.peek(second(63)), { remaining: 10 }, "four have ended")
    expectFields(await counter.check(second(63), 11), { allowed: false, retryAfter: 1e6 }, "for eleven")
    expectFields(await counter.peek(second(83)), { remaining: 300, resetAfter: 0 }, "all have ended")
  })
}

function holdOf(counter: Counter, cost: number): Charge {
  return { ...counter.charge(cost), hold: newHoldId() }
}

async function acquire(store: Store, hold: Charge, at: number): Promise<void> {
  expectSame((await store.check([hold], second(at))).allowed, true, `acquired at ${at} s`)
}
