import { describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine } from "./engine.js"

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
