// A limit that changes under a live key, and clocks that do not agree.

import type { LimitOptions } from "../../policy.js"
import { Counter, type DefineTest, second } from "./counter.js"
import { expectFields, expectSame, expectTrue } from "./expect.js"
import { CAPACITY, maxWait, variants, WINDOW, withWindow } from "./policies.js"

/** The same limit with room for another number of units at once. */
function withRoom(limit: LimitOptions, room: number): LimitOptions {
  if (limit.algorithm === "gcra") return { ...limit, maxBurst: room - 1 }
  return limit.burst === undefined ? { ...limit, limit: room } : { ...limit, burst: room }
}

export function changes(test: DefineTest): void {
  for (const { title, limit } of variants) {
    test(`${title}: a changed limit keeps what was charged`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(4), 5)
      const wider = counter.under(withRoom(limit, 20))
      expectFields(await wider.peek(second(4)), { remaining: 15 }, "raised to 20")
      const narrower = counter.under(withRoom(limit, 6))
      expectFields(await narrower.check(second(4), 2), { allowed: false, remaining: 1 }, "lowered to 6")
      expectFields(await counter.check(second(4), 5), { allowed: true, remaining: 0 }, "back at 10")
      expectFields(await wider.check(second(4), 10), { allowed: true, remaining: 0 }, "raised again")
    })

    test(`${title}: a limit lowered below what was charged does not lock the key out`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(4), CAPACITY)
      const lower = counter.under(withRoom(limit, 2))
      const { allowed, remaining, retryAfter } = await lower.check(second(5))
      expectSame({ allowed, remaining }, { allowed: false, remaining: 0 }, "2 where 10 are charged")
      const longest = limit.algorithm === "sliding-window-counter" ? 2 * WINDOW : WINDOW
      expectTrue(retryAfter <= longest, `a wait within the window, not ${retryAfter} µs`)
      expectFields(await lower.check(second(5) + retryAfter - 1), { allowed: false }, "one µs early")
      expectFields(await lower.check(second(5) + retryAfter), { allowed: true }, "in time")
    })

    test(`${title}: a changed window gives no free reset and no lockout`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(4), CAPACITY)
      const longer = counter.under(withWindow(limit, "2m"))
      const { allowed, retryAfter } = await longer.check(second(4), CAPACITY)
      expectSame(allowed, false, "all of it again at once")
      expectTrue(retryAfter <= 4 * maxWait(limit), `no lockout, as ${retryAfter} µs would be`)
      expectFields(await longer.check(second(4) + retryAfter, CAPACITY), { allowed: true }, "in time")
    })

    test(`${title}: a longer window does not count what had drained before`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(4), CAPACITY)
      const longer = counter.under(withWindow(limit, "1d"))
      const drained = second(4) + 2 * maxWait(limit)
      expectFields(await longer.peek(drained), { remaining: CAPACITY, resetAfter: 0 }, "all of it is back")
      expectFields(await longer.check(drained, CAPACITY), { allowed: true, remaining: 0 }, "and can be used")
    })

    test(`${title}: a clock that steps back gives no free units`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(70), CAPACITY)
      for (const at of [69.999999, 65, 61, 50, 30]) {
        expectFields(await counter.check(second(at)), { allowed: false, remaining: 0 }, `at ${at} s`)
      }
      const { allowed, retryAfter } = await counter.check(second(70))
      expectSame(allowed, false, "at 70 s again")
      expectFields(await counter.check(second(70) + retryAfter - 1), { allowed: false }, "one µs early")
      expectFields(await counter.check(second(70) + retryAfter), { allowed: true }, "in time")
    })

    test(`${title}: the wait for a caller whose clock is behind is right by that clock`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(70), CAPACITY)
      const { retryAfter } = await counter.check(second(40))
      expectFields(await counter.check(second(40) + retryAfter - 1), { allowed: false }, "one µs early")
      expectFields(await counter.check(second(40) + retryAfter), { allowed: true }, "in time")
    })

    test(`${title}: a clock that was far ahead neither locks a key out nor resets it`, async (store) => {
      const counter = new Counter(store, limit)
      await counter.check(second(86_400), CAPACITY)
      const { allowed, retryAfter } = await counter.check(second(7), 3)
      expectSame(allowed, false, "what was charged stays charged")
      expectTrue(retryAfter <= maxWait(limit), `no lockout, as ${retryAfter} µs would be`)
      expectFields(await counter.check(second(7) + retryAfter - 1, 3), { allowed: false }, "one µs early")
      expectFields(await counter.check(second(7) + retryAfter, 3), { allowed: true }, "in time")
    })
  }
}
