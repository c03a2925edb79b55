import { compilePolicy } from "../../policy.js"
import { newHoldId } from "../../stores/hold-id.js"
import type { Charge, Settlement, Store } from "../../stores/store.js"
import { Counter, type DefineTest, second } from "./counter.js"
import { expectFields, expectSame } from "./expect.js"
import { CAPACITY, variants } from "./policies.js"

/** Their limit and their burst are 10, so that one unit drains in 6 s. */
const BUCKETS = variants.filter(({ limit }) => limit.limit === 10 && compilePolicy(limit, "").token > 0)
const RATES = variants.filter(({ limit }) => limit.algorithm !== "concurrency")

export function settling(test: DefineTest): void {
  for (const { title, limit } of RATES) {
    const start = async (store: Store, estimate: number) => {
      const counter = new Counter(store, limit)
      await counter.check(second(3), estimate)
      return counter
    }

    test(`${title}: less than the estimate gives back the difference`, async (store) => {
      const counter = await start(store, 6)
      await settle(store, { ...counter.charge(4), correction: "refund", chargedAt: second(3) }, 3)
      const other = new Counter(store, limit)
      await other.check(second(3), 2)
      expectSame(await counter.peek(second(3)), await other.peek(second(3)), "as if charged the real cost")
    })

    test(`${title}: more than the estimate is charged beyond the limit, and remaining is never negative`, async (store) => {
      const counter = await start(store, 6)
      await settle(store, { ...counter.charge(7), correction: "charge" }, 3)
      const other = new Counter(store, limit)
      await store.charge([other.charge(13)], second(3))
      expectSame(await counter.peek(second(3)), await other.peek(second(3)), "as if charged the real cost")
      expectFields(await counter.check(second(3)), { allowed: false, remaining: 0 }, "the next check")
    })

    test(`${title}: fill charges as much as fits`, async (store) => {
      const counter = await start(store, 6)
      await settle(store, { ...counter.charge(3), correction: "fill" }, 3)
      expectFields(await counter.peek(second(3)), { remaining: 1 }, "all of it fits")
      await settle(store, { ...counter.charge(7), correction: "fill" }, 3)
      const other = new Counter(store, limit)
      await other.check(second(3), CAPACITY)
      expectSame(await counter.peek(second(3)), await other.peek(second(3)), "one of seven fits")
      await settle(store, { ...counter.charge(1), correction: "fill" }, 3)
      expectSame(await counter.peek(second(3)), await other.peek(second(3)), "nothing fits")
    })
  }

  for (const { title, limit } of BUCKETS) {
    test(`${title}: an overdraft counts in full until it has drained`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(0), 6)
      await settle(store, { ...counter.charge(24), correction: "charge" }, 0)
      const wait = { retryAfter: 126e6, resetAfter: 180e6 }
      expectFields(await counter.check(second(0)), { ...wait, remaining: 0, used: 30 }, "10 of 30 fit")
      expectFields(await counter.check(second(125.999999)), { allowed: false, retryAfter: 1 }, "1 µs early")
      expectFields(await counter.check(second(126)), { allowed: true, remaining: 0 }, "when 21 have drained")
    })

    test(`${title}: an overdraft is at most a full bucket after the limit was lowered`, async (store) => {
      const counter = new Counter(store, limit)
      await settle(store, { ...counter.charge(30), correction: "charge" }, 0)
      const lower = { ...limit, limit: 5, ...(limit.maxBurst === undefined ? {} : { maxBurst: 4 }) }
      expectFields(await counter.under(lower).peek(second(0)), { used: 5, resetAfter: 60e6 }, "5 per minute")
    })
  }

  test("several limits are settled in one call, and two charges of one key one after the other", async (store) => {
    const counters = RATES.map(({ limit }) => new Counter(store, limit))
    await store.check(
      counters.map((counter) => counter.charge(5)),
      second(3),
    )
    const back = counters.map((counter): Settlement => {
      return { ...counter.charge(2), correction: "refund", chargedAt: second(3) }
    })
    const more = counters.map((counter): Settlement => ({ ...counter.charge(9), correction: "fill" }))
    expectSame((await store.settle([...back, ...back], second(3))).result, "settled", "the result")
    for (const counter of counters)
      expectFields(await counter.peek(second(3)), { remaining: 9 }, "after giving back 4 of 5")
    await store.settle([...more, ...more], second(3))
    for (const counter of counters)
      expectFields(await counter.peek(second(3)), { remaining: 0 }, "after filling twice")
  })

  test("a settlement releases holds, also those that have ended", async (store) => {
    const counter = new Counter(store, { algorithm: "concurrency", limit: 3, hold: "1m" })
    const rate = new Counter(store, { limit: 10, window: "1h", algorithm: "token-bucket" })
    for (const at of [1, 70]) {
      const hold: Charge = { ...counter.charge(1), hold: newHoldId() }
      await store.check([hold, rate.charge(2)], second(0))
      const settled = await store.settle(
        [
          { ...hold, correction: "release" },
          { ...rate.charge(1), correction: "charge" },
        ],
        second(at),
      )
      expectSame(settled.result, "settled", `the result at ${at} s`)
    }
    expectFields(await counter.peek(second(71)), { remaining: 3 }, "nothing is held")
    expectFields(await rate.peek(second(71)), { remaining: 4 }, "3 charged twice")
  })

  test("a settlement that claims a hold changes something once", async (store) => {
    const records = new Counter(store, { algorithm: "concurrency", limit: 3, hold: "1m" })
    const rate = new Counter(store, { limit: 10, window: "1h", algorithm: "fixed-window" })
    const record: Charge = { ...records.charge(1), hold: newHoldId() }
    await store.check([rate.charge(5), record], second(1))
    const settleAt = async (at: number) => {
      const back: Settlement = { ...rate.charge(2), correction: "refund", chargedAt: second(1) }
      return (await store.settle([back, { ...record, correction: "claim" }], second(at))).result
    }
    expectSame(await settleAt(2), "settled", "the first")
    expectSame((await settleAt(2)) === "settled", false, "the second")
    expectFields(await rate.peek(second(2)), { remaining: 7 }, "given back once")
    await store.check([record], second(3))
    expectSame((await settleAt(63)) === "settled", false, "a hold that has ended")
    expectFields(await rate.peek(second(63)), { remaining: 7 }, "nothing more is given back")
    expectFields(await records.peek(second(63)), { remaining: 3 }, "nothing is held")
  })
}

async function settle(store: Store, settlement: Settlement, at: number): Promise<void> {
  const { result } = await store.settle([settlement], second(at))
  expectSame(result, "settled", "the result")
}
