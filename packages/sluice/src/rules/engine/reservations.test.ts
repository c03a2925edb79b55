import { afterEach, describe, expect, it } from "vitest"
import { TestServer } from "../../stores/leases/server.test-support.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import type { Store } from "../../stores/store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RuleSpec } from "../language/schema.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"

const engines: RuleEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

const TOKENS: RuleSpec = {
  id: "tokens",
  keyBy: "user",
  limits: [{ limit: 1_000, window: "1m", algorithm: "fixed-window" }],
  cost: { responseHeader: "x-tokens", estimate: 100 },
}
const REQUESTS: RuleSpec = {
  id: "requests",
  keyBy: "user",
  limits: [{ limit: 10, window: "1m", algorithm: "token-bucket" }],
}
const AT_ONCE: RuleSpec = {
  id: "at-once",
  keyBy: "user",
  limits: [{ algorithm: "concurrency", limit: 2, hold: "5m" }],
}
const ANN = { user: "ann", path: "/chat" }

/** Two engines on one store, as two instances are. */
function pair(rules: RuleSpec[], store?: Store) {
  const clock = new ManualClock()
  const shared = store ?? memoryStore({ clock })
  const [first, second] = [0, 1].map(() => {
    const engine = createRuleEngine({ rules: { version: 1, rules }, store: shared, clock, secret: "s" })
    engines.push(engine)
    return engine
  }) as [RuleEngine, RuleEngine]
  const left = async () =>
    Object.fromEntries((await first.peek(ANN)).rules.map(({ rule, limits }) => [rule, limits[0]?.remaining]))
  return { clock, first, second, left, store: shared }
}

async function reserve(engine: RuleEngine, options = {}): Promise<string> {
  const { allowed, reservation } = await engine.reserve(ANN, options)
  expect(allowed).toBe(true)
  return reservation as string
}

describe("a reservation by rules", () => {
  it("is settled by another engine with the same store and secret, once", async () => {
    const { first, second, left } = pair([TOKENS])
    const text = await reserve(first, { cost: 400 })
    expect(await left()).toEqual({ tokens: 600 })
    expect(await second.settleReservation(text, 150)).toEqual({ isFirst: true })
    expect(await left()).toEqual({ tokens: 850 })
    for (const engine of [first, second])
      expect(await engine.settleReservation(text, 0)).toEqual({ isFirst: false })
    expect(await left()).toEqual({ tokens: 850 })
  })

  it("prices the rules that read their cost from the response, and leaves the others alone", async () => {
    const { first, left } = pair([TOKENS, REQUESTS, AT_ONCE])
    const text = await reserve(first, { cost: 400 })
    expect(await left()).toEqual({ tokens: 600, requests: 9, "at-once": 1 })
    await first.settleReservation(text, 700)
    expect(await left()).toEqual({ tokens: 300, requests: 9, "at-once": 2 })
  })

  it("prices all rules if none reads its cost from the response, and takes their own costs by default", async () => {
    const { first, left } = pair([REQUESTS])
    await first.settleReservation(await reserve(first, { cost: 4 }), 2)
    expect(await left()).toEqual({ requests: 8 })
    await reserve(first)
    expect(await left()).toEqual({ requests: 7 })
    const tokens = pair([TOKENS])
    await tokens.first.settleReservation(await reserve(tokens.first), 30)
    expect(await tokens.left()).toEqual({ tokens: 970 })
  })

  it("works for a rule and a key by name", async () => {
    const { first, second, left } = pair([TOKENS])
    const { reservation } = await first.reserveKey("tokens", "user:ann", { cost: 10 })
    expect(await left()).toEqual({ tokens: 990 })
    await second.settleReservation(reservation as string, 0)
    expect(await left()).toEqual({ tokens: 1_000 })
  })

  it("charges beyond the limit, unless the call or the rule forgives it", async () => {
    const forgiving = { ...TOKENS, cost: { responseHeader: "x-tokens", overdraft: "forgive" } } as const
    for (const [rule, options, used] of [
      [TOKENS, {}, 1_500],
      [TOKENS, { overdraft: "forgive" }, 1_000],
      [forgiving, {}, 1_000],
      [forgiving, { overdraft: "charge" }, 1_500],
    ] as const) {
      const { first } = pair([rule])
      await first.settleReservation(await reserve(first, { ...options, cost: 500 }), 1_500)
      expect(await first.peek(ANN)).toMatchObject({ remaining: 0, used })
    }
  })

  it("can be settled until its hold is over", async () => {
    const { clock, first, left } = pair([TOKENS])
    const limits: RuleSpec["limits"] = [{ limit: 1_000, window: "1h", algorithm: "fixed-window" }]
    const hour = pair([{ ...TOKENS, limits }])
    const [late, early] = [
      await reserve(hour.first, { cost: 100, hold: "90s" }),
      await reserve(hour.first, { cost: 100, hold: 90_000 }),
    ]
    hour.clock.advance(89_999)
    expect(await hour.second.settleReservation(early, 0)).toEqual({ isFirst: true })
    hour.clock.advance(1)
    for (const text of [late, early])
      await expect(hour.second.settleReservation(text, 0)).rejects.toMatchObject({
        code: "RESERVATION_EXPIRED",
      })
    expect(await hour.left()).toEqual({ tokens: 900 })
    const text = await reserve(first)
    clock.advance(599_999)
    expect(await first.settleReservation(text, 0)).toEqual({ isFirst: true })
    expect(await left()).toEqual({ tokens: 1_000 })
  })

  it("survives a change of the rules", async () => {
    const { first, clock, store } = pair([TOKENS])
    const text = await reserve(first, { cost: 400 })
    const other = createRuleEngine({ rules: { version: 1, rules: [] }, store, clock, secret: "s" })
    engines.push(other)
    expect(await other.settleReservation(text, 100)).toEqual({ isFirst: true })
    expect(await first.peek(ANN)).toMatchObject({ remaining: 900 })
  })

  it("counts and settles rules in shadow mode too", async () => {
    for (const rules of [
      [{ ...TOKENS, mode: "shadow" } as const],
      [REQUESTS, { ...TOKENS, mode: "shadow" } as const],
    ]) {
      const { first, left } = pair(rules)
      const text = await reserve(first, { cost: 400 })
      expect((await left()).tokens).toBe(600)
      expect(await first.settleReservation(text, 50)).toEqual({ isFirst: true })
      expect(await first.settleReservation(text, 50)).toEqual({ isFirst: false })
      expect((await left()).tokens).toBe(950)
    }
  })

  it("exists for a request that no rule limits, and changes nothing", async () => {
    const { first } = pair([])
    expect(await first.settleReservation(await reserve(first, { cost: 5 }), 9)).toEqual({ isFirst: true })
  })

  it("takes one call for the check and one to settle, and no lease", async () => {
    const clock = new ManualClock()
    const store = new TestServer(clock)
    const leased: RuleSpec = {
      id: "leased",
      keyBy: "user",
      limits: [{ limit: 1_000, window: "1m" }],
      leases: true,
    }
    const { first } = pair([leased], store)
    const text = await reserve(first, { cost: 5 })
    await first.settleReservation(text, 2)
    expect(store.calls.map(({ operation }) => operation)).toEqual(["check", "settle"])
  })

  it("is not settled by the response as well", async () => {
    const { first, left } = pair([TOKENS, AT_ONCE])
    const decision = await first.reserve(ANN, { cost: 100 })
    expect(first.mustSettle(decision)).toBe(false)
    await first.settle(decision, { status: 200, headers: { "x-tokens": "1" } })
    await first.refund(decision)
    expect(await left()).toEqual({ tokens: 900, "at-once": 1 })
  })
})

it("explain tells how the response settles a rule", async () => {
  const charging: RuleSpec = {
    ...TOKENS,
    refundOn: "5xx",
    cost: { responseHeader: "X-Tokens", estimate: 7, overdraft: "charge" },
  }
  const { first } = pair([charging, REQUESTS])
  const { rules } = await first.explain(ANN)
  expect(rules.map(({ response }) => response)).toEqual([
    "some statuses give the cost back; the response's header x-tokens settles the estimate of 7, and more is charged also beyond the limit",
    undefined,
  ])
})

describe("a reservation that somebody made up", () => {
  it("is refused, whatever was changed in it", async () => {
    const { first, clock, store, left } = pair([TOKENS])
    const text = await reserve(first, { cost: 100 })
    const [body = "", mac = ""] = text.slice("reservation_".length).split(".")
    const changed = JSON.parse(Buffer.from(body, "base64url").toString())
    changed.charges[0][2] = 900
    const forged = Buffer.from(JSON.stringify(changed)).toString("base64url")
    const stranger = createRuleEngine({ rules: { version: 1, rules: [TOKENS] }, store, clock, secret: "t" })
    engines.push(stranger)
    const hashed = first.hashApiKey(Buffer.from(forged, "base64url").toString())
    for (const made of [
      `reservation_${forged}.${mac}`,
      `reservation_${forged}.${hashed}`,
      `reservation_${body}.${mac.slice(1)}`,
      `reservation_${body}.`,
      `reservation_${body}`,
      `${body}.${mac}`,
      "",
      `reservation_${"A".repeat(70_000)}.${mac}`,
      await reserve(stranger, { cost: 1 }),
      undefined as unknown as string,
      7 as unknown as string,
    ])
      await expect(first.settleReservation(made, 0)).rejects.toMatchObject({ code: "RESERVATION_UNKNOWN" })
    expect(await left()).toEqual({ tokens: 899 })
    await expect(first.settleReservation(text, -1)).rejects.toMatchObject({ code: "COST_INVALID" })
    await expect(first.settleReservation(text, undefined as never)).rejects.toMatchObject({
      code: "COST_INVALID",
    })
    expect(await first.settleReservation(text, 0)).toEqual({ isFirst: true })
  })

  it.each([{ cost: 1.5 }, { hold: "10ms" }, { hold: "25h" }, { hold: "x" }, { overdraft: 1 }, { at: 1 }])(
    "%j is no option",
    async (options) => {
      const { first, left } = pair([TOKENS])
      await expect(first.reserve(ANN, options as object)).rejects.toThrow(/^(reserve|cost)/)
      expect(await left()).toEqual({ tokens: 1_000 })
    },
  )
})
