// Blocks, as a limiter keeps them in the store.

import { blockPolicy } from "../../algorithms/block.js"
import { createLimiter } from "../../limiter/limiter.js"
import { Namespace, type Store } from "../../stores/store.js"
import { ManualClock } from "../manual-clock.js"
import { type DefineTest, freshName, second } from "./counter.js"
import { expectFields, expectSame } from "./expect.js"

function limiterOn(store: Store) {
  const clock = new ManualClock()
  const limiter = createLimiter({ store, clock, prefix: freshName(), limit: 5, window: "1h" })
  return { clock, limiter }
}

export function blocking(test: DefineTest): void {
  test("a blocked key is denied until exactly the end of the block", async (store) => {
    const { clock, limiter } = limiterOn(store)
    await limiter.block("bad", "10s")
    expectFields(
      await limiter.check("bad"),
      { allowed: false, remaining: 0, retryAfterMs: 10_000, deniedBy: "block" },
      "at once",
    )
    expectFields(await limiter.check("good"), { allowed: true, deniedBy: undefined }, "another key")
    clock.advance(9_999.999)
    expectFields(await limiter.check("bad"), { allowed: false, retryAfterMs: 0.001 }, "one microsecond early")
    clock.advance(0.001)
    expectFields(await limiter.check("bad"), { allowed: true, retryAfterMs: 0 }, "in time")
  })

  test("calls while blocked neither extend the block nor charge anything", async (store) => {
    const { clock, limiter } = limiterOn(store)
    await limiter.check("bad", { cost: 2 })
    await limiter.block("bad", "10s")
    for (let seconds = 0; seconds < 10; seconds++) {
      const { retryAfterMs } = await limiter.check("bad")
      expectSame(retryAfterMs, 10_000 - seconds * 1_000, `after ${seconds} s`)
      clock.advance(1_000)
    }
    expectFields(await limiter.check("bad"), { allowed: true, remaining: 2 }, "after the block")
  })

  test("a clock that is set back makes no block longer than it was set for", async (store) => {
    const { clock, limiter } = limiterOn(store)
    await limiter.block("bad", "10s")
    clock.advance(-3_600_000)
    expectFields(await limiter.check("bad"), { allowed: false, retryAfterMs: 10_000 }, "an hour back")
    clock.advance(9_999.999)
    expectFields(await limiter.check("bad"), { allowed: false, retryAfterMs: 0.001 }, "one microsecond early")
    clock.advance(0.001)
    expectFields(await limiter.check("bad"), { allowed: true, retryAfterMs: 0 }, "in time")
  })

  test("blocking again restarts the time, longer or shorter", async (store) => {
    const { clock, limiter } = limiterOn(store)
    await limiter.block("bad", "10s")
    clock.advance(5_000)
    await limiter.block("bad", "30s")
    expectFields(await limiter.check("bad"), { allowed: false, retryAfterMs: 30_000 }, "longer")
    await limiter.block("bad", "2s")
    expectFields(await limiter.check("bad"), { allowed: false, retryAfterMs: 2_000 }, "shorter")
  })

  test("unblock ends a block and keeps the counter; reset keeps the block", async (store) => {
    const { limiter } = limiterOn(store)
    await limiter.check("bad", { cost: 3 })
    await limiter.block("bad", "10s")
    await limiter.unblock("bad")
    expectFields(await limiter.peek("bad"), { allowed: true, remaining: 2 }, "after unblock")
    await limiter.unblock("never blocked")
    await limiter.block("bad", "10s")
    await limiter.reset("bad")
    expectFields(await limiter.check("bad"), { allowed: false, deniedBy: "block" }, "after reset")
    await limiter.unblock("bad")
    expectFields(await limiter.peek("bad"), { allowed: true, remaining: 5 }, "after both")
  })

  test("a blocked key in a list of checks denies only its own", async (store) => {
    const { limiter } = limiterOn(store)
    await limiter.block("bad", "10s")
    const decisions = await limiter.checkMany([{ key: "good" }, { key: "bad" }, { key: "good" }])
    expectSame(
      decisions.map(({ allowed }) => allowed),
      [true, false, true],
      "who passes",
    )
    expectSame(
      decisions.map(({ deniedBy }) => deniedBy),
      [undefined, "block", undefined],
      "denied by",
    )
  })
  test("mayBlock is true while a namespace holds a block", async (store) => {
    const namespace = new Namespace(freshName())
    const charge = { namespace, key: "bad", policy: blockPolicy, cost: 3_600_000_000 }
    await store.charge([charge], second(1))
    expectSame(store.mayBlock(namespace), true, "of the namespace used")
    expectSame(store.mayBlock(new Namespace(namespace.name)), true, "of another object of the same name")
  })
}
