import { describe, expect, it, vi } from "vitest"
import type { Verdict } from "../../algorithms/algorithm.js"
import { blockPolicy } from "../../algorithms/block.js"
import { SluiceError } from "../../errors.js"
import { createLimiter } from "../../limiter/limiter.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { CAPACITY, variants } from "../../testing/contract/policies.js"
import { describeStoreContract } from "../../testing/contract/store-contract.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { memoryStore } from "../memory/memory-store.js"
import { type Charge, type Degraded, Namespace, type Outcome } from "../store.js"
import { FlakyStore } from "./flaky-store.test-support.js"
import { StoreFailure } from "./store-failure.js"
import { type StoreFailureEvent, StoreGuard, type StoreGuardOptions } from "./store-guard.js"

describeStoreContract({
  name: "a guarded store that never fails",
  open: () => new StoreGuard(new FlakyStore(memoryStore())),
  describe,
  it,
})

describeStoreContract({
  name: "a guarded store that always fails, with one instance",
  open: () => {
    const store = new FlakyStore(memoryStore())
    store.failure = away
    return new StoreGuard(store)
  },
  describe,
  it,
})

const away = new StoreFailure("timeout", "no answer within 50 ms", { ambiguous: true })
const second = 1_000_000

function setUp(options: StoreGuardOptions & { instances?: number } = {}) {
  const { instances = 1, ...rest } = options
  const clock = new ManualClock()
  const shared = memoryStore({ clock })
  const store = new FlakyStore(shared, instances)
  const events: StoreFailureEvent[] = []
  const guard = new StoreGuard(store, { clock, onFailure: (event) => events.push(event), ...rest })
  return { clock, events, guard, shared, store }
}

const minutely = { algorithm: "token-bucket", limit: 100, window: "1m" } as const

function chargesOf(limit: LimitOptions = minutely, name = "test") {
  const namespace = new Namespace(name)
  const policy = compilePolicy(limit, "test")
  return (cost = 1, key = "key"): Charge => ({ namespace, key, policy, cost })
}

function only(outcome: Outcome): Verdict {
  expect(outcome.verdicts).toHaveLength(1)
  return outcome.verdicts[0] as Verdict
}

describe("a healthy store", () => {
  it("decides alone: an ordinary denial never reaches the fallback", async () => {
    const { events, guard } = setUp({ instances: 4 })
    const charge = chargesOf({ limit: 1, window: "1m" })
    expect(await guard.check([charge()])).toMatchObject({ allowed: true, degraded: undefined })
    for (let i = 0; i < 10; i++) {
      expect(await guard.check([charge()])).toMatchObject({ allowed: false, degraded: undefined })
    }
    expect(events).toEqual([])
    expect(guard.stats).toEqual({
      failures: {},
      degraded: { allow: 0, deny: 0, local: 0 },
      ambiguous: 0,
      dropped: 0,
    })
  })

  it("passes a mistake by the caller on", async () => {
    const { guard, store } = setUp()
    store.failure = new SluiceError("STORE_CLOSED", { place: "redisStore", expected: "was closed" })
    const charge = chargesOf()()
    for (const call of [
      () => guard.check([charge]),
      () => guard.decide([charge]),
      () => guard.charge([charge]),
      () => guard.refund([charge]),
      () => guard.reset([charge]),
      () => guard.checkMany([{ charges: [charge] }]),
    ]) {
      await expect(call()).rejects.toBe(store.failure)
    }
    expect(guard.stats.failures).toEqual({})
  })
})

describe("allow", () => {
  it("allows everything, marks the decision as degraded, and shows an unused key", async () => {
    const { guard, store } = setUp({ onStoreFailure: "allow" })
    const charge = chargesOf()
    await guard.check([charge(100)])
    store.failure = away
    for (let i = 0; i < 200; i++) {
      const outcome = await guard.check([charge()])
      expect(outcome).toMatchObject({ allowed: true, degraded: "allow" })
      expect(only(outcome)).toMatchObject({ remaining: 99, retryAfter: 0 })
    }
    expect(guard.stats.degraded).toEqual({ allow: 200, deny: 0, local: 0 })
  })
})

describe("deny", () => {
  it("admits nothing and says when to try again", async () => {
    const { guard, store } = setUp()
    store.failure = away
    const charge = chargesOf()
    for (let i = 0; i < 200; i++) {
      const outcome = await guard.check([charge()], undefined, "deny")
      expect(outcome).toMatchObject({ allowed: false, degraded: "deny" })
      expect(only(outcome)).toMatchObject({ remaining: 0, retryAfter: second })
    }
    expect(guard.stats.degraded).toEqual({ allow: 0, deny: 200, local: 0 })
  })

  it("makes a decision that a limiter can show", async () => {
    const { guard, store } = setUp()
    store.failure = away
    const calls = { name: "calls", limit: 5, window: "1m" } as const
    const limiter = createLimiter({ store: guard, onStoreFailure: "deny", ...calls })
    expect(await limiter.check("key")).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 1_000,
      deniedBy: "calls",
      degraded: "deny",
    })
  })
})

describe("local", () => {
  it("enforces this instance's share, and marks the decision as degraded", async () => {
    const { guard, store } = setUp({ instances: 4 })
    store.failure = away
    const charge = chargesOf()
    for (let left = 24; left >= 0; left--) {
      const outcome = await guard.check([charge()])
      expect(outcome).toMatchObject({ allowed: true, degraded: "local" })
      expect(only(outcome).remaining).toBe(left)
    }
    const denied = await guard.check([charge()])
    expect(denied).toMatchObject({ allowed: false, degraded: "local" })
    // 25 a minute come back one every 2.4 s.
    expect(only(denied).retryAfter).toBe(2.4 * second)
  })

  it("returns to shared decisions by itself", async () => {
    const { guard, store } = setUp({ instances: 4 })
    const charge = chargesOf()
    store.failure = away
    await guard.check([charge(25)])
    store.failure = undefined
    const outcome = await guard.check([charge(90)])
    expect(outcome).toMatchObject({ allowed: true, degraded: undefined })
    expect(only(outcome).remaining).toBe(10)
  })

  it("denies a cost above its share only until the store may be back", async () => {
    const { guard, store } = setUp({ instances: 4 })
    store.failure = away
    const charge = chargesOf()
    expect(only(await guard.check([charge(26)]))).toMatchObject({ allowed: false, retryAfter: second })
    expect(only(await guard.check([charge(101)])).retryAfter).toBe(Number.POSITIVE_INFINITY)
  })

  it("decides several limits together, all or nothing", async () => {
    const { guard, store } = setUp()
    store.failure = away
    const wide = chargesOf({ limit: 100, window: "1m" }, "wide")
    const tight = chargesOf({ limit: 1, window: "1m" }, "tight")
    expect((await guard.check([wide(), tight()])).allowed).toBe(true)
    for (let i = 0; i < 5; i++) expect((await guard.check([wide(), tight()])).allowed).toBe(false)
    expect(only(await guard.check([wide(0)])).remaining).toBe(99)
  })

  it("charges nothing when it only decides", async () => {
    const { guard, store } = setUp()
    store.failure = away
    const charge = chargesOf()
    for (let i = 0; i < 3; i++) {
      const outcome = await guard.decide([charge(60)])
      expect(outcome).toMatchObject({ allowed: true, degraded: "local" })
    }
    expect(only(await guard.check([charge(60)])).remaining).toBe(40)
  })

  it("takes charges, refunds and resets", async () => {
    const { guard, store } = setUp()
    store.failure = away
    const charge = chargesOf()
    await guard.charge([charge(50)])
    await guard.refund([charge(20)])
    expect(only(await guard.check([charge(0)])).remaining).toBe(70)
    await guard.reset([charge()])
    expect(only(await guard.check([charge(0)])).remaining).toBe(100)
    expect(guard.stats).toMatchObject({ failures: { timeout: 5 }, dropped: 0 })
  })

  it("runs on a clock that does not step with the system's", async () => {
    vi.useFakeTimers({ toFake: ["Date"] })
    const store = new FlakyStore(memoryStore())
    const guard = new StoreGuard(store)
    const charge = chargesOf({ algorithm: "token-bucket", limit: 10, window: "1h" })
    store.failure = away
    await guard.check([charge(10)])
    vi.setSystemTime(Date.now() + 86_400_000)
    expect((await guard.check([charge()])).allowed).toBe(false)
    vi.setSystemTime(Date.now() - 2 * 86_400_000)
    expect((await guard.check([charge()])).allowed).toBe(false)
    vi.useRealTimers()
    await guard.close()
  })
})

describe("an explicit time", () => {
  it("is the time of a degraded decision, independent of the clock", async () => {
    const { clock, guard, store } = setUp()
    store.failure = away
    const charge = chargesOf({ algorithm: "fixed-window", limit: 1, window: "1m" })
    const lastYear = clock.now() * 1000 - 365 * 86_400 * second
    for (const mode of ["allow", "deny", "local"] satisfies Degraded[]) {
      expect((await guard.check([charge(0)], lastYear, mode)).now).toBe(lastYear)
    }
    expect((await guard.check([charge()], lastYear)).allowed).toBe(true)
    expect((await guard.check([charge()], lastYear + 59 * second)).allowed).toBe(false)
    expect((await guard.check([charge()], lastYear + 60 * second)).allowed).toBe(true)
  })

  it("in the past is not tidied away as expired", async () => {
    vi.useFakeTimers()
    const { clock, guard, store } = setUp()
    store.failure = away
    const charge = chargesOf({ limit: 1, window: "1m" })
    const lastYear = clock.now() * 1000 - 365 * 86_400 * second
    await guard.check([charge()], lastYear)
    vi.advanceTimersByTime(10_000)
    expect((await guard.check([charge()], lastYear + second)).allowed).toBe(false)
    vi.useRealTimers()
    await guard.close()
  })

  it("of the last shared decision is the time at which its usage is charged locally", async () => {
    const { clock, guard, store } = setUp()
    const charge = chargesOf()
    const lastYear = clock.now() * 1000 - 365 * 86_400 * second
    await guard.check([charge(100)], lastYear)
    store.failure = away
    expect(only(await guard.check([charge(0)], lastYear + 6 * second)).remaining).toBe(10)
  })
})

describe("the last known usage", () => {
  it.each(variants)(
    "of $title is where a local counter starts, divided by the instances",
    async ({ limit }) => {
      const { guard, store } = setUp({ instances: 2 })
      const charge = chargesOf(limit)
      await guard.check([charge(7)])
      store.failure = away
      // 7 of 10 were used: 4 of this instance's 5.
      expect(only(await guard.check([charge(0)])).remaining).toBe(1)
      expect((await guard.check([charge()])).allowed).toBe(true)
      expect((await guard.check([charge()])).allowed).toBe(false)
    },
  )

  it.each(variants)("of $title expires", async ({ limit }) => {
    const { clock, guard, store } = setUp()
    const charge = chargesOf(limit)
    await guard.check([charge(CAPACITY)])
    store.failure = away
    clock.advance(180_000)
    expect(only(await guard.check([charge(0)])).remaining).toBe(CAPACITY)
  })

  it.each(variants.filter(({ limit }) => limit.algorithm !== "sliding-window-counter"))(
    "of $title denies a client that keeps asking no longer than the shared counter would",
    async ({ limit }) => {
      const { clock, guard, shared, store } = setUp()
      const charge = chargesOf(limit)
      clock.advance(10_000)
      await guard.check([charge(CAPACITY)])
      for (let i = 0; i < 30; i++) {
        clock.advance(1_000)
        await guard.check([charge(CAPACITY)])
      }
      store.failure = away
      const shows = only(await shared.check([charge(CAPACITY)]))
      const local = only(await guard.check([charge(CAPACITY)]))
      expect(local.allowed).toBe(false)
      expect(local.retryAfter).toBeGreaterThanOrEqual(shows.retryAfter)
      // A part of a unit counts as a whole one.
      expect(local.retryAfter - shows.retryAfter).toBeLessThan((60 * second) / limit.limit)
    },
  )

  it("comes from a check of cost 0 too", async () => {
    const { guard, shared, store } = setUp()
    const charge = chargesOf()
    await shared.check([charge(80)])
    await guard.check([charge(0)])
    store.failure = away
    expect(only(await guard.check([charge(0)])).remaining).toBe(20)
  })

  it("comes from a denial, and from a dry run without its cost", async () => {
    const { guard, store } = setUp()
    const charge = chargesOf()
    await guard.check([charge(60)])
    await guard.check([charge(50)])
    await guard.decide([charge(30)])
    store.failure = away
    expect(only(await guard.check([charge(0)])).remaining).toBe(40)
  })

  it("has no part in a check that another limit denied", async () => {
    const { guard, store } = setUp()
    const wide = chargesOf(minutely, "wide")
    const tight = chargesOf({ limit: 1, window: "1m" }, "tight")
    await guard.check([wide(30), tight()])
    await guard.check([wide(30), tight()])
    store.failure = away
    expect(only(await guard.check([wide(0)])).remaining).toBe(70)
  })

  it("is not kept for a key of which less than an eighth is used", async () => {
    const { guard, store } = setUp()
    const charge = chargesOf()
    await guard.check([charge(12, "light")])
    await guard.check([charge(13, "heavy")])
    store.failure = away
    expect(only(await guard.check([charge(0, "light")])).remaining).toBe(100)
    expect(only(await guard.check([charge(0, "heavy")])).remaining).toBe(87)
  })

  it("is forgotten with a reset", async () => {
    const { guard, store } = setUp()
    const charge = chargesOf()
    await guard.check([charge(100)])
    await guard.reset([charge()])
    store.failure = away
    expect(only(await guard.check([charge(0)])).remaining).toBe(100)
  })

  it("is separate for each namespace and key", async () => {
    const { guard, store } = setUp()
    const one = chargesOf(minutely, "one")
    const other = chargesOf(minutely, "other")
    await guard.check([one(20, "a")])
    await guard.check([other(30, "a")])
    await guard.check([one(40, "one")])
    store.failure = away
    expect(only(await guard.check([one(0, "a")])).remaining).toBe(80)
    expect(only(await guard.check([other(0, "a")])).remaining).toBe(70)
    expect(only(await guard.check([one(0, "one")])).remaining).toBe(60)
    expect(only(await guard.check([other(0, "other")])).remaining).toBe(100)
  })

  it("is taken once by checks that come together", async () => {
    const { guard, store } = setUp()
    const charge = chargesOf()
    await guard.check([charge(95)])
    store.failure = away
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => guard.check([charge()])))
    expect(outcomes.filter(({ allowed }) => allowed)).toHaveLength(5)
  })

  it("of a block keeps the key blocked for the rest of its time", async () => {
    const { clock, guard, store } = setUp({ instances: 4 })
    const limiter = createLimiter({ store: guard, limit: 100, window: "1h" })
    await limiter.block("set here", "10s")
    await guard.check([chargesOf()()])
    store.failure = away
    clock.advance(4_000)
    expect(await limiter.check("set here")).toMatchObject({
      allowed: false,
      deniedBy: "block",
      retryAfterMs: 6_000,
      degraded: "local",
    })
    clock.advance(6_000)
    expect(await limiter.check("set here")).toMatchObject({ allowed: true, degraded: "local" })
  })

  it("of a block seen with a check keeps it too", async () => {
    const { clock, guard, shared, store } = setUp()
    const blocked = { namespace: new Namespace("blocks"), key: "key", policy: blockPolicy, cost: 0 }
    await shared.charge([{ ...blocked, cost: 10 * second }])
    await guard.check([blocked])
    store.failure = away
    clock.advance(4_000)
    expect(only(await guard.check([blocked])).retryAfter).toBe(6 * second)
  })

  it("of a block is gone when a check has seen it lifted", async () => {
    const { guard, shared, store } = setUp()
    const blocked = { namespace: new Namespace("blocks"), key: "key", policy: blockPolicy, cost: 0 }
    await guard.charge([{ ...blocked, cost: 10 * second }])
    await shared.reset([blocked])
    await guard.check([blocked])
    store.failure = away
    expect(only(await guard.check([blocked])).allowed).toBe(true)
  })
})

describe("a store that fails repeatedly", () => {
  it("does not start a new share each time", async () => {
    const { guard, store } = setUp()
    const charge = chargesOf({ algorithm: "fixed-window", limit: 10, window: "1h" })
    let admitted = 0
    for (let i = 0; i < 100; i++) {
      store.failure = i % 2 === 0 ? away : undefined
      if ((await guard.check([charge()])).allowed) admitted++
    }
    expect(admitted).toBe(20)
  })

  it("starts from the shared count again if that has grown meanwhile", async () => {
    const { guard, shared, store } = setUp()
    const charge = chargesOf()
    store.failure = away
    await guard.check([charge(10)])
    store.failure = undefined
    await shared.check([charge(70)])
    await guard.check([charge(0)])
    store.failure = away
    expect(only(await guard.check([charge(0)])).remaining).toBe(30)
  })
})

describe("what is lost without local counters", () => {
  it.each(["allow", "deny"] as const)("is dropped and counted with %s", async (mode) => {
    const { events, guard, store } = setUp({ onStoreFailure: mode })
    store.failure = away
    const charge = chargesOf()()
    await guard.charge([charge])
    await guard.refund([charge])
    await guard.reset([charge])
    expect(guard.stats).toMatchObject({ failures: { timeout: 3 }, dropped: 3 })
    expect(events.map(({ operation, instead }) => [operation, instead])).toEqual([
      ["charge", "dropped"],
      ["refund", "dropped"],
      ["reset", "dropped"],
    ])
  })
})

describe("a list of checks", () => {
  it("degrades only those that failed, each in its own way", async () => {
    const { guard, store } = setUp()
    const charge = chargesOf()
    const check = store.check.bind(store)
    vi.spyOn(store, "check").mockImplementation((charges, at) =>
      charges[0]?.key.startsWith("far") ? Promise.reject(away) : check(charges, at),
    )
    const outcomes = await guard.checkMany([
      { charges: [charge(1, "near")] },
      { charges: [charge(1, "far")], onStoreFailure: "deny" },
      { charges: [charge(1, "far too")], onStoreFailure: "allow" },
      { charges: [charge(1, "far as well")] },
      { charges: [charge(1, "near")] },
    ])
    expect(outcomes.map(({ degraded }) => degraded)).toEqual([undefined, "deny", "allow", "local", undefined])
    expect(outcomes[4]?.verdicts[0]?.remaining).toBe(98)
  })
})

describe("counts and events", () => {
  it("failures by kind, degraded decisions by kind, and what is ambiguous", async () => {
    const { events, guard, store } = setUp()
    const charge = chargesOf()()
    const failures: [Error | StoreFailure, Degraded][] = [
      [away, "local"],
      [new StoreFailure("breaker-open", "the breaker is open"), "allow"],
      [new StoreFailure("breaker-open", "the breaker is open"), "deny"],
      [new TypeError("reply is not a buffer"), "local"],
    ]
    for (const [failure, mode] of failures) {
      store.failure = failure
      await guard.check([charge], undefined, mode)
    }
    expect(guard.stats).toEqual({
      failures: { timeout: 1, "breaker-open": 2, other: 1 },
      degraded: { allow: 1, deny: 1, local: 2 },
      ambiguous: 2,
      dropped: 0,
    })
    expect(events.map(({ operation, failure, instead }) => [operation, failure.kind, instead])).toEqual([
      ["check", "timeout", "local"],
      ["check", "breaker-open", "allow"],
      ["check", "breaker-open", "deny"],
      ["check", "other", "local"],
    ])
    expect(events[3]?.failure).toMatchObject({ message: "reply is not a buffer", cause: failures[3]?.[0] })
  })

  it("to a listener that throws without harm to the decision", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
    const { guard, store } = setUp({
      onFailure: () => {
        throw new Error("listener")
      },
    })
    store.failure = away
    expect((await guard.check([chargesOf()()])).degraded).toBe("local")
    expect(warned).toHaveBeenCalledOnce()
    warned.mockRestore()
  })
})

it("a store that throws instead of rejecting is handled the same", async () => {
  const { guard, store } = setUp()
  vi.spyOn(store, "check").mockImplementation(() => {
    throw new Error("broken")
  })
  expect((await guard.check([chargesOf()()])).degraded).toBe("local")
})

it("closing closes both stores, and later calls are refused", async () => {
  const { guard, store } = setUp()
  const closed = vi.spyOn(store, "close")
  store.failure = away
  await guard.check([chargesOf()()])
  await guard.close()
  expect(closed).toHaveBeenCalledOnce()
  await expect(guard.check([chargesOf()()])).rejects.toMatchObject({ code: "STORE_CLOSED" })
})

it.each([undefined, 0, -1, Number.NaN])("a store that reports %s instances counts as one", (instances) => {
  const store = new FlakyStore(memoryStore(), instances as number)
  expect(new StoreGuard(store).instances).toBe(1)
})

describe("charges that fail differently", () => {
  function mixed(...ways: (Degraded | undefined)[]) {
    const { clock, guard, store } = setUp()
    store.failure = away
    const charges = ways.map((onStoreFailure, i) => ({
      ...chargesOf(minutely, `rule ${i}`)(),
      onStoreFailure,
    }))
    return { charges, clock, guard }
  }

  it("denies when one of them fails closed, and charges none of the others", async () => {
    const { charges, guard } = mixed("local", "deny", "allow")
    const outcome = await guard.check(charges)
    expect(outcome).toMatchObject({ allowed: false, degraded: "deny" })
    expect(outcome.verdicts.map((verdict) => verdict.allowed)).toEqual([true, false, true])
    const local = await guard.check([{ ...(charges[0] as Charge), cost: 0 }])
    expect(only(local).remaining).toBe(100)
  })

  it("counts the local ones when the rest fails open", async () => {
    const { charges, guard } = mixed("allow", "local")
    expect(await guard.check(charges)).toMatchObject({ allowed: true, degraded: "local" })
    const outcome = await guard.check(charges)
    expect(outcome.verdicts.map((verdict) => verdict.remaining)).toEqual([99, 98])
  })

  it("uses the onStoreFailure of the call for charges without their own", async () => {
    const { charges, guard } = mixed("allow", undefined)
    expect(await guard.check(charges, undefined, "deny")).toMatchObject({ allowed: false, degraded: "deny" })
    expect(await guard.check(charges, undefined, "allow")).toMatchObject({ allowed: true, degraded: "allow" })
  })

  it("charges nothing for a check of cost 0", async () => {
    const { charges, guard } = mixed("allow", "local")
    await guard.decide(charges)
    const outcome = await guard.decide(charges)
    expect(outcome.verdicts[1]?.remaining).toBe(100)
  })
})
