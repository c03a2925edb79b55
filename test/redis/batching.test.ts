import { describe, expect, it } from "vitest"
import { LIBRARIES } from "./clients.js"
import { Counter, callsOf, forgetCalls, times, useRedis } from "./one-server.js"

const redis = useRedis()
const limit = { algorithm: "token-bucket", limit: 1_000, window: "1h" } as const
const AT = Date.UTC(2026, 0, 1) * 1000

describe.each(LIBRARIES)("through %s", (library) => {
  /** A store whose script the server has, with nothing counted yet. */
  async function warm() {
    const store = await redis.store({}, library)
    const counter = new Counter(store, limit)
    await counter.peek(AT)
    await forgetCalls(redis.server)
    return { store, counter }
  }

  it("checks of one tick share one call", async () => {
    const { counter } = await warm()
    const answers = await Promise.all(times(20, (i) => counter.check(AT, 1, `key ${i % 4}`)))
    expect(answers.every(({ allowed }) => allowed)).toBe(true)
    expect(await callsOf(redis.server, "evalsha")).toBe(1)
  })

  it("peeks, charges and refunds of one tick share the call, too", async () => {
    const { store, counter } = await warm()
    await Promise.all([
      counter.check(AT, 5),
      store.charge([counter.charge(3)], AT),
      store.decide([counter.charge(1)], AT),
      store.refund([counter.charge(2)], AT),
      counter.peek(AT, "another"),
    ])
    expect(await callsOf(redis.server, "evalsha")).toBe(1)
    expect(await counter.peek(AT)).toMatchObject({ remaining: 1_000 - 5 - 3 + 2 })
  })

  it("a call has at most 32 checks", async () => {
    const { counter } = await warm()
    await Promise.all(times(100, () => counter.check(AT)))
    expect(await callsOf(redis.server, "evalsha")).toBe(4)
    expect(await counter.peek(AT)).toMatchObject({ remaining: 900 })
  })

  it("the checks of checkMany share one call", async () => {
    const { store, counter } = await warm()
    const outcomes = await store.checkMany(times(40, () => ({ charges: [counter.charge()], at: AT })))
    expect(outcomes.map(({ verdicts }) => verdicts[0]?.remaining)).toEqual(times(40, (i) => 999 - i))
    expect(await callsOf(redis.server, "evalsha")).toBe(2)
  })

  it("checks that wait for each other do not share a call", async () => {
    const { counter } = await warm()
    for (let i = 0; i < 3; i++) await counter.check(AT)
    expect(await callsOf(redis.server, "evalsha")).toBe(3)
  })

  it("each check sees what the checks before it in the call have charged", async () => {
    const { store } = await warm()
    const counters = (["fixed-window", "sliding-window-log", "sliding-window-counter", "gcra"] as const).map(
      (algorithm) => new Counter(store, { algorithm, limit: 10, window: "1h" }),
    )
    for (const counter of counters) {
      const answers = await Promise.all(times(15, () => counter.check(AT)))
      expect(answers.map(({ remaining }) => remaining)).toEqual(times(15, (i) => Math.max(9 - i, 0)))
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(10)
    }
    expect(await callsOf(redis.server, "evalsha")).toBe(counters.length)
  })
})

it("a check of a thousand limits is one call", async () => {
  const store = await redis.store()
  const counters = times(1_000, () => new Counter(store, { algorithm: "gcra", limit: 1, window: "1h" }))
  const charges = counters.map((counter) => counter.charge())
  expect((await store.check(charges, AT)).allowed).toBe(true)
  const { allowed, verdicts } = await store.check(charges, AT)
  expect(allowed).toBe(false)
  expect(verdicts.filter((verdict) => verdict.allowed)).toEqual([])
})
