import { afterEach, describe, expect, it } from "vitest"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { DecisionSlot } from "./decision-slot.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"
import type { RuleEngineOptions } from "./engine-options.js"
import type { RuleRequest } from "./identity.js"
import type { RuleDecision } from "./rule-decision.js"

const engines: RuleEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

const RULES = `
version: 1
defaults: { headers: draft-8 }
tiers: { gold: ["user:7"] }
deny: ["user:13"]
rules:
  - id: items
    match: { path: /items/** }
    keyBy: user
    limits: [{ algorithm: token-bucket, limit: 3, window: 7s }]
    tiers: { gold: { limits: [{ algorithm: fixed-window, limit: 5, window: 10s }] } }
  - id: queue
    match: { path: /queue }
    limits: [{ name: slowly, algorithm: leaky-bucket, overflow: queue, limit: 2, window: 3s }]
    response: { status: 503 }
  - id: both
    match: { path: /both }
    limits: [{ algorithm: gcra, limit: 2, window: 1s }, { algorithm: fixed-window, limit: 3, window: 1m }]
  - id: watched
    match: { path: /watched }
    mode: shadow
    limits: [{ limit: 1, window: 1m }]
  - id: settled
    match: { path: /settled }
    refundOn: 5xx
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
  - id: described
    match: { domain: edge, descriptor: [{ key: user }] }
    keyBy: descriptor
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
`

function start(options: Partial<RuleEngineOptions> = {}) {
  const clock = new ManualClock()
  const engine = createRuleEngine({ rules: RULES, clock, store: memoryStore({ clock }), ...options })
  engines.push(engine)
  return { clock, engine }
}

const asked: readonly RuleRequest[] = [
  { path: "/items/1", user: "1" },
  { path: "/items/2", user: "7" },
  { path: "/queue", ip: "192.0.2.1" },
  { path: "/both", ip: "192.0.2.1" },
  { path: "/watched", ip: "192.0.2.1" },
  { path: "/settled", ip: "192.0.2.1" },
  { path: "/items/3", user: "13" },
  { path: "/free" },
  { domain: "edge", descriptors: [{ entries: [{ key: "user", value: "9" }] }] },
]

const item: RuleRequest = { path: "/items/1", user: "1" }

describe("a slot for decisions", () => {
  it("holds, one after the other, what decisions of their own would say", () => {
    const own = start()
    const reused = start()
    const slot = new DecisionSlot()
    const decisions: RuleDecision[] = []
    for (let i = 0; i < 60; i++) {
      const request = asked[(i * 7) % asked.length] as RuleRequest
      const expected = own.engine.checkSync(request)
      const found = reused.engine.checkSync(request, undefined, slot)
      // Without what only the engine knows of it, which leads to counters of its own.
      expect(structuredClone(found)).toEqual(structuredClone(expected))
      expect(Object.keys(found)).toEqual(Object.keys(expected))
      decisions.push(expected)
      own.clock.advance(123.456)
      reused.clock.advance(123.456)
    }
    // Nothing would be shown if all of them were alike.
    expect(new Set(decisions.map(({ rule, allowed }) => `${rule} ${allowed}`)).size).toBeGreaterThan(8)
    expect(decisions.some(({ delayMs }) => delayMs > 0)).toBe(true)
  })

  it("says what new rules say as soon as they are there", () => {
    const slot = new DecisionSlot()
    const before = start().engine.checkSync(item, undefined, slot)
    expect(before).toMatchObject({ limit: 3, rule: "items", headers: "draft-8" })
    const other = start({
      rules: { version: 1, rules: [{ id: "other", limits: [{ limit: 9, window: "1m" }], keyBy: "user" }] },
    })
    expect(other.engine.checkSync(item, undefined, slot)).toMatchObject({
      limit: 9,
      rule: "other",
      headers: "both",
      policies: [{ name: "other" }],
      rules: [{ rule: "other", limits: [{ limit: 9, windowMs: 60_000 }] }],
    })
  })

  it("is written over by the next check", () => {
    const { engine } = start()
    const slot = new DecisionSlot()
    const first = engine.checkSync(item, undefined, slot)
    expect(first.remaining).toBe(2)
    expect(engine.checkKeySync("items", "user:1", undefined, slot)).toBe(first)
    expect(first.remaining).toBe(1)
  })

  it("gives back what its decision has charged", async () => {
    const { engine } = start()
    const slot = new DecisionSlot()
    const decision = engine.checkSync(item, { cost: 3 }, slot)
    expect(decision.remaining).toBe(0)
    await engine.refund(decision, 1)
    expect((await engine.peek(item)).remaining).toBe(1)
    const denied = engine.checkSync(item, { cost: 3 }, slot)
    expect(denied.allowed).toBe(false)
    await engine.refund(denied)
    expect((await engine.peek(item)).remaining).toBe(1)
  })

  it("is left alone where somebody may keep the decision", () => {
    const told: RuleDecision[] = []
    const { engine } = start({ onDecision: ({ decision }) => void told.push(decision) })
    const slot = new DecisionSlot()
    engine.checkSync(item, undefined, slot)
    engine.checkSync(item, undefined, slot)
    expect(told.map(({ remaining }) => remaining)).toEqual([2, 1])
    const settled = start().engine
    const first = settled.checkSync({ path: "/settled", ip: "192.0.2.1" }, undefined, slot)
    settled.checkSync({ path: "/settled", ip: "192.0.2.1" }, undefined, slot)
    expect(first.remaining).toBe(1)
    expect(settled.mustSettle(first)).toBe(true)
  })
})
