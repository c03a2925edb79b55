import { afterEach, describe, expect, it } from "vitest"
import type { AlgorithmName } from "../algorithms/algorithm.js"
import type { Clock } from "../clock.js"
import { RequestLimiter } from "../middleware/core/request-limiter.js"
import type { RequestReader } from "../middleware/core/request-reader.js"
import { createRuleEngine } from "../rules/index.js"
import { memoryStore } from "../stores/memory/memory-store.js"
import type { Store } from "../stores/store.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter } from "./limiter.js"

const ALGORITHMS = [
  "fixed-window",
  "sliding-window-log",
  "sliding-window-counter",
  "token-bucket",
  "leaky-bucket",
  "gcra",
] as const satisfies readonly AlgorithmName[]

const stores: Store[] = []
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()))
})

/** The same store behind promises, as a shared one is. */
function remote(store: Store): Store {
  return {
    check: (...args) => store.check(...args),
    decide: (...args) => store.decide(...args),
    checkMany: (...args) => store.checkMany(...args),
    charge: (...args) => store.charge(...args),
    refund: (...args) => store.refund(...args),
    settle: (...args) => store.settle(...args),
    reset: (...args) => store.reset(...args),
    mayBlock: (namespace) => store.mayBlock(namespace),
    close: () => store.close(),
  }
}

interface Timed {
  readonly clock: ManualClock
  readonly store: Store
  /** Of the limiter or the engine, if it has one of its own. */
  readonly own: { readonly clock?: Clock }
}

const WAYS: [string, () => Timed][] = [
  ["in memory", () => timed((store) => store, true)],
  ["in memory, by the clock of the store", () => timed((store) => store, false)],
  ["in a shared store, by the clock of the store", () => timed(remote, false)],
]

function timed(wrap: (store: Store) => Store, isOwn: boolean): Timed {
  const clock = new ManualClock()
  const store = wrap(memoryStore({ clock }))
  stores.push(store)
  return { clock, store, own: isOwn ? { clock } : {} }
}

function limitOf(algorithm: AlgorithmName) {
  return { limit: 3, window: "1m", algorithm, ...(algorithm === "gcra" ? { maxBurst: 2 } : {}) } as const
}

describe.each(WAYS)("a request that is given back %s", (_, open) => {
  describe.each(ALGORITHMS)("to a %s", (algorithm) => {
    const rules = { version: 1 as const, rules: [{ id: "api", limits: [limitOf(algorithm)] }] }
    const request = { ip: "203.0.113.7" }

    it("leaves alone what a newer one was charged, once the limiter has forgotten it", async () => {
      const { clock, store, own } = open()
      const limiter = createLimiter({ ...limitOf(algorithm), store, ...own })
      const slow = await limiter.check("key")
      clock.advance(slow.resetAfterMs)
      expect((await limiter.check("key")).remaining).toBe(2)
      expect((await limiter.refund("key", 1, slow)).remaining).toBe(2)
    })

    it("leaves alone what a newer one was charged, once the rules have forgotten it", async () => {
      const { clock, store, own } = open()
      const engine = createRuleEngine({ rules, store, ...own })
      const slow = await engine.check(request)
      clock.advance(slow.resetAfterMs)
      expect((await engine.check(request)).remaining).toBe(2)
      await engine.refund(slow)
      expect((await engine.peek(request)).remaining).toBe(2)
    })

    it("no longer counts, if its window has not ended", async () => {
      const { clock, store, own } = open()
      const limiter = createLimiter({ ...limitOf(algorithm), store, ...own })
      const quick = await limiter.check("key")
      clock.advance(quick.resetAfterMs - 1)
      expect((await limiter.refund("key", 1, quick)).remaining).toBe(3)
      const engine = createRuleEngine({ rules, store, ...own })
      const other = await engine.check(request)
      clock.advance(other.resetAfterMs - 1)
      await engine.refund(other)
      expect((await engine.peek(request)).remaining).toBe(3)
    })

    it.each([
      ["skipFailedRequests", 500],
      ["skipSuccessfulRequests", 200],
    ] as const)("by %s leaves alone what a newer one was charged", async (option, status) => {
      const { clock, store, own } = open()
      const limiter = createLimiter({ ...limitOf(algorithm), store, ...own })
      const engine = createRuleEngine({ rules, store, ...own })
      for (const limits of [{ limiter }, { engine }]) {
        const limited = new RequestLimiter<object>({ ...limits, [option]: true }, reader)
        const slow = await limited.admit({})
        clock.advance(slow?.decision.resetAfterMs ?? Number.NaN)
        const newer = await limited.admit({})
        expect(newer?.decision.remaining).toBe(2)
        slow?.settle(status)
        await settled()
        expect((await limited.admit({}))?.decision.remaining).toBe(1)
      }
    })
  })

  it("goes back to those of several limits whose window has not ended, and to no other", async () => {
    const { clock, store, own } = open()
    const limits = [
      { name: "short", limit: 3, window: "1m", algorithm: "fixed-window" as const },
      { name: "long", limit: 9, window: "1h", algorithm: "fixed-window" as const },
    ]
    const left = (limits: readonly { remaining: number }[] | undefined) =>
      limits?.map(({ remaining }) => remaining)
    const limiter = createLimiter({ limits, store, ...own })
    const slow = await limiter.check("key")
    clock.advance(60_000)
    await limiter.check("key")
    expect(left((await limiter.refund("key", 1, slow)).limits)).toEqual([2, 8])
    const engine = createRuleEngine({ rules: { version: 1, rules: [{ id: "api", limits }] }, store, ...own })
    const request = { ip: "203.0.113.7" }
    const other = await engine.check(request)
    clock.advance(60_000)
    await engine.check(request)
    await engine.refund(other)
    expect(left((await engine.peek(request)).limits)).toEqual([2, 8])
  })
})

const reader: RequestReader<object> = {
  method: () => "GET",
  target: () => "/",
  headers: () => ({}),
  rawHeaders: () => undefined,
  peer: () => "203.0.113.7",
}

/** What is given back in the background has been, after so many turns. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
