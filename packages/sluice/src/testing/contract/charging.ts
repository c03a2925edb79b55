// What a check charges, and what it does not.

import { Counter, type DefineTest, second } from "./counter.js"
import { expectFields, expectSame, expectTrue } from "./expect.js"
import { CAPACITY, maxWait, variants } from "./policies.js"

export function charging(test: DefineTest): void {
  for (const { title, limit } of variants) {
    test(`${title}: a denied check charges nothing`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(5), CAPACITY - 2)
      const denied = await counter.check(second(6), 3)
      expectFields(
        denied,
        { allowed: false, remaining: 2, used: 8, delay: 0 },
        "a cost of 3 where 2 are left",
      )
      for (let i = 0; i < 20; i++) {
        expectSame(await counter.check(second(6), 3), denied, `denial ${i + 2} at the same time`)
      }
      expectFields(
        await counter.check(second(6), 2),
        { allowed: true, remaining: 0, used: CAPACITY },
        "a cost of the 2 left",
      )
    })

    test(`${title}: a cost of 0 charges nothing`, async (store) => {
      const counter = new Counter(store, limit)
      const untouched = {
        allowed: true,
        remaining: CAPACITY,
        used: 0,
        retryAfter: 0,
        resetAfter: 0,
        delay: 0,
      }
      for (const at of [0, 7, 14]) expectSame(await counter.peek(second(at)), untouched, `a look at ${at} s`)
      // If the check of cost 0 had written anything, the first charge would differ from one on a new key.
      const first = await counter.check(second(21), 4)
      expectSame(
        first,
        await counter.check(second(21), 4, "never looked at"),
        "the first charge after looking",
      )
      const before = await counter.peek(second(30))
      for (let i = 0; i < 5; i++) await counter.peek(second(40))
      expectSame(await counter.peek(second(30)), before, "a look after later looks")
    })

    test(`${title}: a cost that can never fit is denied for ever and charges nothing`, async (store) => {
      const counter = new Counter(store, limit)
      const never = { allowed: false, retryAfter: Number.POSITIVE_INFINITY }
      for (const cost of [CAPACITY + 1, 1_000_000, Number.MAX_SAFE_INTEGER]) {
        expectFields(
          await counter.check(second(0), cost),
          { ...never, remaining: CAPACITY },
          `a cost of ${cost}`,
        )
      }
      await counter.check(second(0), 3)
      expectFields(await counter.check(second(0), CAPACITY + 1), { ...never, remaining: 7 }, "on a used key")
      expectFields(await counter.check(second(0), 7), { allowed: true, remaining: 0 }, "all that is left")
    })

    test(`${title}: denied one microsecond before retryAfter, allowed at it`, async (store) => {
      const counter = new Counter(store, limit)
      for (const cost of [1, 2, 5, CAPACITY]) {
        const key = `for ${cost}`
        await counter.check(second(3), 4, key)
        const { remaining } = await counter.peek(second(17.123456), key)
        await counter.check(second(17.123456), remaining, key)
        const at = second(18)
        const { allowed, retryAfter } = await counter.check(at, cost, key)
        expectSame(allowed, false, `cost ${cost} on a full key`)
        expectTrue(retryAfter > 0 && retryAfter <= maxWait(limit), `a sensible wait, not ${retryAfter} µs`)
        const early = await counter.check(at + retryAfter - 1, cost, key)
        expectFields(early, { allowed: false, retryAfter: 1 }, `cost ${cost} one microsecond early`)
        expectFields(
          await counter.check(at + retryAfter, cost, key),
          { allowed: true },
          `cost ${cost} in time`,
        )
      }
    })

    test(`${title}: a peek of a full key says when one unit passes`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(3), 4)
      const { remaining } = await counter.peek(second(17.123456))
      await counter.check(second(17.123456), remaining)
      const at = second(18)
      const last = (await counter.peek(at)).remaining
      if (last > 0) await counter.check(at, last)
      const { retryAfter, ...full } = await counter.peek(at)
      expectFields(full, { allowed: true, remaining: 0, used: CAPACITY }, "a peek of the full key")
      expectTrue(retryAfter > 0 && retryAfter <= maxWait(limit), `a sensible wait, not ${retryAfter} µs`)
      expectFields(await counter.peek(at + retryAfter - 1), { remaining: 0, retryAfter: 1 }, "one µs early")
      expectFields(await counter.check(at + retryAfter - 1), { allowed: false }, "a check one µs early")
      expectFields(await counter.check(at + retryAfter), { allowed: true }, "a check in time")
    })

    test(`${title}: as new after resetAfter`, async (store) => {
      const counter = new Counter(store, limit)
      const { resetAfter } = await counter.check(second(3), 7)
      const { resetAfter: early } = await counter.peek(second(3) + resetAfter - 1)
      expectSame(early, 1, "one microsecond before")
      const untouched = {
        allowed: true,
        remaining: CAPACITY,
        used: 0,
        retryAfter: 0,
        resetAfter: 0,
        delay: 0,
      }
      expectSame(await counter.peek(second(3) + resetAfter), untouched, "at resetAfter")
    })

    test(`${title}: charging without asking may go over the limit`, async (store) => {
      const counter = new Counter(store, limit)
      await store.charge([counter.charge(4)], second(5))
      expectFields(await counter.peek(second(5)), { allowed: true, remaining: 6 }, "after charging 4")
      await store.charge([counter.charge(8)], second(5))
      const denied = await counter.check(second(5))
      expectFields(denied, { allowed: false, remaining: 0 }, "after charging 12 of 10")
      expectTrue(denied.retryAfter <= maxWait(limit), `no lockout, as ${denied.retryAfter} µs would be`)
      expectFields(await counter.check(second(5) + denied.retryAfter - 1), { allowed: false }, "one µs early")
      expectFields(await counter.check(second(5) + denied.retryAfter), { allowed: true }, "in time")
    })
  }

  test("every outcome has the time of its decision", async (store) => {
    const counter = new Counter(store, { limit: 1, window: "1m" })
    for (const cost of [0, 1, 1, 2]) {
      const { now } = await store.check([counter.charge(cost)], second(12.345678))
      expectSame(now, second(12.345678), `cost ${cost}`)
    }
  })

  test("a check without a time uses the store's clock", async (store) => {
    const counter = new Counter(store, { algorithm: "sliding-window-log", limit: 1, window: "1d" })
    const first = await store.check([counter.charge()])
    expectSame(first.allowed, true, "the first")
    expectTrue(Number.isInteger(first.now) && first.now > 0, `a time in whole microseconds, not ${first.now}`)
    const { allowed, verdicts } = await store.check([counter.charge()])
    expectSame(allowed, false, "the second")
    expectTrue((verdicts[0]?.retryAfter ?? 0) > 0, "a wait")
  })
}
