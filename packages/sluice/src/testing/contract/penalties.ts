// Penalties: the store counts the denials of a limit, and blocks a key that has too many.

import { createLimiter } from "../../limiter/limiter.js"
import type { PenaltyOptions } from "../../penalty-options.js"
import type { BlockedKeys, Store } from "../../stores/store.js"
import { ManualClock } from "../manual-clock.js"
import { type DefineTest, freshName } from "./counter.js"
import { expectFields, expectSame } from "./expect.js"

const PENALTY: PenaltyOptions = {
  after: 3,
  within: "10s",
  block: "1m",
  factor: 2,
  max: "3m",
  forget: "10m",
}

function limiterOn(store: Store, prefix = freshName()) {
  const clock = new ManualClock()
  const limits = [
    { name: "login", limit: 1, window: "1s", algorithm: "token-bucket", penalty: PENALTY },
    { name: "daily", limit: 1_000, window: "1d", algorithm: "token-bucket" },
  ] as const
  return { clock, limiter: createLimiter({ store, clock, prefix, limits }) }
}

export function penalties(test: DefineTest): void {
  test("a key that is denied too often is blocked, and longer each time", async (store) => {
    const { clock, limiter } = limiterOn(store)
    for (const minutes of [1, 2, 3, 3]) {
      await limiter.check("bad")
      for (const retryAfterMs of [1_000, 1_000, minutes * 60_000])
        expectFields(
          await limiter.check("bad"),
          { allowed: false, retryAfterMs },
          `denial before ${minutes} min`,
        )
      clock.advance(minutes * 60_000 - 0.001)
      expectFields(
        await limiter.check("bad"),
        { allowed: false, retryAfterMs: 0.001, deniedBy: "block" },
        "blocked",
      )
      clock.advance(0.001)
      expectFields(await limiter.check("good"), { allowed: true }, "another key")
    }
    clock.advance(600_000)
    await limiter.check("bad")
    for (const retryAfterMs of [1_000, 1_000, 60_000])
      expectFields(await limiter.check("bad"), { allowed: false, retryAfterMs }, "after it was forgotten")
  })

  test("only the decision that begins a block says so", async (store) => {
    const { clock, limiter } = limiterOn(store)
    for (const earlier of [0, 1]) {
      await limiter.check("bad")
      // In one call and at one time: the state after the third and the fourth is the same.
      const decisions = await limiter.checkMany(Array.from({ length: 5 }, () => ({ key: "bad" })))
      const begun = decisions.map((decision) => decision.begunBlocks ?? [])
      const blockedForMs = 60_000 * (1 + earlier)
      expectSame(
        begun,
        [
          [],
          [],
          [{ limit: "login", denials: 3, earlier, blockedForMs, blockedUntil: clock.now() + blockedForMs }],
          [],
          [],
        ],
        `block ${earlier + 1}`,
      )
      clock.advance(blockedForMs)
    }
  })

  test("a store that lists blocked keys knows who is blocked, since when, and until when", async (store) => {
    const prefix = freshName()
    // A store may have no list, or know none while its server does not answer.
    if ((await store.blocked?.(prefix, 9)) === undefined) return
    const { clock, limiter } = limiterOn(store, prefix)
    const since = clock.now() * 1000
    for (let i = 0; i < 4; i++) await limiter.check("by penalty")
    await limiter.block("by hand", "1h")
    const expected = [
      { namespace: `${prefix}:block`, key: "by hand", since, until: since + 3_600_000_000, blocks: 0 },
      {
        namespace: `${prefix}:tb:login:penalty`,
        key: "by penalty",
        since,
        until: since + 60_000_000,
        blocks: 1,
      },
    ]
    expectSame(await listed(store, prefix, since, 2), { keys: expected, isComplete: true }, "all")
    expectSame(
      await store.blocked?.(prefix, 1, since),
      { keys: expected.slice(0, 1), isComplete: false },
      "at most one",
    )
    expectSame((await store.blocked?.(freshName(), 9, since))?.keys, [], "of another prefix")
    await limiter.unblock("by hand")
    expectSame((await listed(store, prefix, since, 1)).keys, expected.slice(1), "after unblock")
    expectSame((await store.blocked?.(prefix, 9, since + 60_000_000))?.keys, [], "after the end of the block")
  })

  test("denials that are too far apart block nobody", async (store) => {
    const { clock, limiter } = limiterOn(store)
    for (let i = 0; i < 8; i++) {
      await limiter.check("slow")
      expectFields(await limiter.check("slow"), { allowed: false, deniedBy: "login" }, `denial ${i}`)
      clock.advance(5_000)
    }
  })

  test("a peek, and a denial by another limit, count for no penalty", async (store) => {
    const { limiter } = limiterOn(store)
    await limiter.check("user")
    for (let i = 0; i < 5; i++) await limiter.peek("user")
    for (let i = 0; i < 2; i++) await limiter.check("user")
    expectFields(await limiter.peek("user"), { allowed: true, remaining: 0 }, "after two denials")
    expectSame((await limiter.check("user")).deniedBy, "block", "the third denial")
    expectFields(await limiter.peek("user"), { allowed: false, retryAfterMs: 60_000 }, "a peek at the block")
  })

  test("unblock ends a penalty and forgets what it has counted", async (store) => {
    const { clock, limiter } = limiterOn(store)
    for (let i = 0; i < 4; i++) await limiter.check("bad")
    expectSame((await limiter.peek("bad")).deniedBy, "block", "before")
    await limiter.unblock("bad")
    clock.advance(1_000)
    expectSame((await limiter.check("bad")).allowed, true, "after")
    for (const retryAfterMs of [1_000, 1_000, 60_000])
      expectFields(await limiter.check("bad"), { allowed: false, retryAfterMs }, "as if it were new")
  })

  test("reset forgets what a key was charged and leaves its penalty", async (store) => {
    const { limiter } = limiterOn(store)
    for (let i = 0; i < 4; i++) await limiter.check("bad")
    await limiter.reset("bad")
    expectFields(await limiter.peek("bad"), { allowed: false, deniedBy: "block" }, "after the reset")
  })
}

const MAX_READINGS = 1_000

/** The list, once it has so many keys. A store may list a block after the decision that began it. */
async function listed(store: Store, prefix: string, at: number, count: number): Promise<BlockedKeys> {
  for (let reading = 1; ; reading++) {
    const list = (await store.blocked?.(prefix, 9, at)) ?? { keys: [], isComplete: false }
    if (list.keys.length === count || reading >= MAX_READINGS) return list
  }
}
