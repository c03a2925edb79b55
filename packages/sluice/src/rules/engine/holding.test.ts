import { describe, expect, it } from "vitest"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine } from "./engine.js"
import { encodeId } from "./holding.js"

function setUp(limits: object[], more: object = {}) {
  const clock = new ManualClock()
  const rules = { version: 1 as const, rules: [{ id: "calls", keyBy: "global", limits, ...more }] }
  return { clock, engine: createRuleEngine({ rules: rules as never, clock }) }
}

const TWO = { algorithm: "concurrency", limit: 2, hold: "1m" }
const REQUEST = { method: "GET", path: "/" }

describe("rules with a concurrency limit", () => {
  it("hold a place per request until it is released", async () => {
    const { engine } = setUp([TWO])
    const first = await engine.check(REQUEST)
    expect(engine.mustSettle(first)).toBe(true)
    await engine.check(REQUEST)
    const denied = await engine.check(REQUEST)
    expect(denied).toMatchObject({ allowed: false, rule: "calls", retryAfterMs: 60_000 })
    expect(engine.mustSettle(denied)).toBe(false)
    await engine.release(first)
    await engine.release(first)
    expect((await engine.check(REQUEST)).allowed).toBe(true)
    expect((await engine.check(REQUEST)).allowed).toBe(false)
  })

  it("free the place of a request that nobody releases after its hold", async () => {
    const { clock, engine } = setUp([TWO])
    await engine.check(REQUEST, { cost: 2 })
    clock.advance(59_999)
    expect((await engine.check(REQUEST)).allowed).toBe(false)
    clock.advance(1)
    expect((await engine.check(REQUEST)).allowed).toBe(true)
  })

  it("release only what is held: a rate beside it keeps its charge", async () => {
    const { engine } = setUp([TWO, { algorithm: "fixed-window", limit: 10, window: "1h" }])
    const decision = await engine.check(REQUEST)
    await engine.release(decision)
    const next = await engine.check(REQUEST, { cost: 0 })
    expect(next.limits?.map(({ remaining }) => remaining)).toEqual([2, 9])
  })

  it("end the hold of a request with a refund, and no hold of another request", async () => {
    const { engine } = setUp([TWO])
    const [first, second] = [await engine.check(REQUEST), await engine.check(REQUEST)]
    await engine.refund(first)
    await engine.refund(first)
    expect((await engine.check(REQUEST, { cost: 0 })).remaining).toBe(1)
    await engine.refund(second, 5)
    expect((await engine.check(REQUEST, { cost: 0 })).remaining).toBe(2)
  })

  it("keep what is held when the response refunds its charge", async () => {
    const { engine } = setUp([TWO], { refundOn: "5xx" })
    const [first] = [await engine.check(REQUEST), await engine.check(REQUEST)]
    await engine.settle(first as never, { status: 500 })
    expect((await engine.check(REQUEST)).allowed).toBe(false)
    await engine.release(first as never)
    expect((await engine.check(REQUEST)).allowed).toBe(true)
  })
})

it("a denial is explained with the longest that it can last", async () => {
  const { engine } = setUp([TWO])
  await engine.check(REQUEST, { cost: 2 })
  const { verdict, rules } = await engine.explain(REQUEST)
  expect(verdict).toBe(
    'denied by limit "2-at-once" of rule "calls": it may pass when a place is free, at the latest in 60000 ms',
  )
  expect(rules[0]?.concurrent).toEqual(["2-at-once"])
})

it("the engine counts what becomes of the holds of each rule", async () => {
  const { clock, engine } = setUp([TWO], { candidate: { limits: [TWO] } })
  expect([...engine.holds]).toEqual([])
  const [first, second] = [await engine.check(REQUEST), await engine.check(REQUEST)]
  await engine.check(REQUEST)
  await engine.check(REQUEST, { cost: 0 })
  await engine.explain(REQUEST)
  const { id } = engine.holdOf(first) ?? { id: "" }
  await engine.release(id)
  await engine.refund(second)
  await engine.release(id)
  const late = await engine.check(REQUEST)
  clock.advance(60_000)
  await engine.release(late)
  expect([...engine.holds]).toEqual([["calls", { acquired: 3, released: 2, late: 2 }]])
})

describe("rules in shadow mode with a concurrency limit", () => {
  const shadow = { mode: "shadow" }

  it("hold a place for as long as the request lasts", async () => {
    const { engine } = setUp([TWO], shadow)
    for (let i = 0; i < 5; i++) {
      const decision = await engine.check(REQUEST)
      expect(decision.shadowDenied).toEqual([])
      expect(engine.mustSettle(decision)).toBe(true)
      await engine.release(decision)
    }
    await engine.check(REQUEST, { cost: 2 })
    expect((await engine.check(REQUEST)).shadowDenied).toEqual(["calls"])
  })

  it("hold nothing for a request that another rule has denied", async () => {
    const rules = [
      { id: "none", keyBy: "global", limits: [{ limit: 1, window: "1h" }] },
      { id: "calls", keyBy: "global", limits: [TWO], mode: "shadow" },
    ]
    const engine = createRuleEngine({ rules: { version: 1, rules } as never, clock: new ManualClock() })
    await engine.release(await engine.check(REQUEST))
    for (let i = 0; i < 3; i++)
      expect(await engine.check(REQUEST)).toMatchObject({ allowed: false, shadowDenied: [] })
  })

  it("count the candidate of a rule alike", async () => {
    const { engine } = setUp([{ ...TWO, limit: 9 }], { candidate: { limits: [TWO] } })
    for (let i = 0; i < 5; i++) {
      const decision = await engine.check(REQUEST)
      expect(decision.shadowDenied).toEqual([])
      expect(await engine.release(engine.holdOf(decision)?.id ?? "")).toBe(true)
    }
  })
})

describe("the id of a hold", () => {
  function pair(limits: object[] = [TWO], more: object = {}) {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const rules = { version: 1, rules: [{ id: "calls", keyBy: "user", limits, ...more }] } as never
    return {
      clock,
      store,
      engines: [1, 2].map(() => createRuleEngine({ rules, clock, store })) as [Engine, Engine],
    }
  }
  type Engine = ReturnType<typeof createRuleEngine>
  const ANN = { ...REQUEST, user: "ann ☂" }

  it("releases and extends the hold on another engine of the same store, once", async () => {
    const { clock, engines } = pair()
    const [first, second] = engines
    const decision = await first.check(ANN, { cost: 2 })
    const { id, holdMs } = first.holdOf(decision) ?? { id: "" }
    expect(holdMs).toBe(60_000)
    clock.advance(59_000)
    expect(await second.extend(id)).toBe(true)
    clock.advance(59_000)
    expect((await first.check(ANN)).allowed).toBe(false)
    expect(await second.release(id)).toBe(true)
    expect(await second.release(id)).toBe(false)
    expect(await second.extend(id)).toBe(false)
    expect((await second.check(ANN, { cost: 2 })).allowed).toBe(true)
  })

  it("covers every limit of every rule that holds, and no rate", async () => {
    const limits = [TWO, { algorithm: "concurrency", limit: 3, hold: "10s" }, { limit: 5, window: "1h" }]
    const { engines } = pair(limits)
    const decision = await engines[0].check(ANN)
    expect(engines[0].holdOf(decision)?.holdMs).toBe(10_000)
    expect(await engines[1].release(engines[0].holdOf(decision)?.id ?? "")).toBe(true)
    const { limits: after } = await engines[0].check(ANN, { cost: 0 })
    expect(after?.map(({ remaining }) => remaining)).toEqual([2, 3, 4])
  })

  it("does not exist for a request that holds nothing", async () => {
    const { engine } = setUp([{ limit: 5, window: "1h" }])
    expect(engine.holdOf(await engine.check(REQUEST))).toBeUndefined()
    const holding = setUp([TWO]).engine
    expect(holding.holdOf(await holding.check(REQUEST, { cost: 0 }))).toBeUndefined()
    await holding.check(REQUEST, { cost: 2 })
    expect(holding.holdOf(await holding.check(REQUEST))).toBeUndefined()
  })

  it("finds the hold of a client with limits of its tier", async () => {
    const more = { tiers: { pro: { limits: [{ algorithm: "concurrency", limit: 1, hold: "5s" }] } } }
    const { clock, engines } = pair([TWO], more)
    const decision = await engines[0].check({ ...ANN, tier: "pro" })
    const { id } = engines[0].holdOf(decision) ?? { id: "" }
    clock.advance(4_000)
    expect(await engines[1].extend(id)).toBe(true)
    clock.advance(4_000)
    expect((await engines[0].check({ ...ANN, tier: "pro" })).allowed).toBe(false)
    expect(await engines[1].release(id)).toBe(true)
  })

  it("does no harm if somebody has made it up", async () => {
    const { clock, engines } = pair()
    const [engine] = engines
    const { id } = engine.holdOf(await engine.check(ANN, { cost: 2 })) ?? { id: "" }
    const [, counters, , key] = JSON.parse(Buffer.from(id.slice(5), "base64url").toString())[0]
    const entry = (...more: unknown[]) => encodeId([["calls", counters, null, key, ...more]])
    const forged = [
      entry(2, "0".repeat(20)),
      entry(1, "zzzzzzzzzzzzzzzzzzzz"),
      entry(2, ""),
      encodeId([["calls", "sluice:other:tb:1m", null, "x", 1, "0".repeat(20)]]),
      encodeId([["gone", counters, "x", key, 1, "0".repeat(20)]]),
      encodeId([]),
    ]
    for (const made of forged) {
      expect(await engine.release(made)).toBe(false)
      expect(await engine.extend(made)).toBe(false)
    }
    clock.advance(59_999)
    expect((await engine.check(ANN)).allowed).toBe(false)
    clock.advance(1)
    expect((await engine.check(ANN)).allowed).toBe(true)
  })

  it.each([
    "",
    "hold_",
    "hold_!!",
    "hold_e30",
    `hold_${"A".repeat(70_000)}`,
    encodeId({}),
    encodeId([["calls", "x", null, "", 1, ""]]),
    encodeId([["calls", "x", null, "k", -1, ""]]),
    encodeId([["calls", "x", null, "k", 1.5, ""]]),
    encodeId([["calls", "x", 1, "k", 1, ""]]),
    encodeId([null]),
  ])("is refused with HOLD_INVALID if it is none: %.30s", async (text) => {
    const { engine } = setUp([TWO])
    await expect(engine.release(text)).rejects.toThrow("[HOLD_INVALID]")
    await expect(engine.extend(text)).rejects.toThrow("[HOLD_INVALID]")
  })
})
