import { afterEach, describe, expect, it, vi } from "vitest"
import { createLimiter } from "../../limiter.js"
import { createRuleEngine } from "../../rules/index.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { Gate } from "./admission.js"
import type { Passage } from "./passage.js"
import type { RateLimitOptions } from "./rate-limit-options.js"
import type { RequestReader } from "./request-reader.js"

interface Asked {
  readonly ip?: string
  readonly path?: string
  readonly headers?: Record<string, string>
}

const reader: RequestReader<Asked> = {
  method: () => "GET",
  target: ({ path = "/" }) => path,
  headers: ({ headers = {} }) => headers,
  rawHeaders: () => undefined,
  peer: ({ ip }) => ip,
}

function gateOf(options: RateLimitOptions<Asked>): Gate<Asked> {
  return new Gate(options, reader)
}

/** The passage of a request on a store in memory, which never is a promise. */
function passOf(gate: Gate<Asked>, asked: Asked = { ip: "203.0.113.7" }): Passage<Asked> {
  const passage = gate.pass(asked)
  if (passage === undefined || passage instanceof Promise) throw new Error("not decided at once")
  return passage
}

const EXACT = { algorithm: "sliding-window-log", window: "1h" } as const

afterEach(() => {
  vi.restoreAllMocks()
})

describe("without a promise", () => {
  it("decides at once when the store is in memory and nothing has to be waited for", () => {
    const gate = gateOf({ limit: 1, ...EXACT, cost: () => 1, skip: () => false, key: () => "me" })
    expect(passOf(gate).allowed).toBe(true)
    expect(passOf(gate).denied?.status).toBe(429)
  })

  it("decides at once with a rule engine in memory", () => {
    const engine = createRuleEngine({
      rules: { version: 1, rules: [{ id: "a", limits: [{ limit: 1, ...EXACT }] }] },
    })
    const gate = gateOf({ engine })
    expect(passOf(gate).allowed).toBe(true)
    expect(passOf(gate).allowed).toBe(false)
  })

  it("takes promises of other libraries for what they are", async () => {
    // biome-ignore lint/suspicious/noThenProperty: what it is about.
    const thenable = { then: (resolve: (key: string) => void) => resolve("me") } as unknown as Promise<string>
    const passing = gateOf({ limit: 5, ...EXACT, key: () => thenable }).pass({})
    expect(passing).toBeInstanceOf(Promise)
    expect((await passing)?.key).toBe("me")
  })

  it("waits only for what takes time", async () => {
    const gate = gateOf({ limit: 5, ...EXACT, cost: async () => 2 })
    const passing = gate.pass({ ip: "203.0.113.7" })
    expect(passing).toBeInstanceOf(Promise)
    expect((await passing)?.decision.remaining).toBe(3)
  })
})

describe("what the application's functions do wrong", () => {
  it("throws what they throw, also with a rule engine", () => {
    const engine = createRuleEngine({ rules: { version: 1, rules: [] } })
    const failing = (): never => {
      throw new Error("mine")
    }
    for (const options of [
      { limit: 1, ...EXACT, key: failing },
      { limit: 1, ...EXACT, cost: failing },
      { limit: 1, ...EXACT, skip: failing },
      { engine, user: failing },
      { engine, tier: failing },
    ]) {
      expect(() => gateOf(options).pass({})).toThrow("mine")
    }
  })

  it.each([
    [{ key: () => "" }, "KEY_INVALID"],
    [{ key: () => 42 as never }, "KEY_INVALID"],
    [{ cost: () => -1 }, "COST_INVALID"],
    [{ cost: () => Number.NaN }, "COST_INVALID"],
  ])("refuses what is no key or no cost: %o", (options, code) => {
    expect(() => gateOf({ limit: 1, ...EXACT, ...options }).pass({})).toThrow(
      expect.objectContaining({ code }),
    )
  })
})

describe("settling", () => {
  function chargedGate(options: Partial<RateLimitOptions<Asked>> = {}) {
    const limiter = createLimiter({ limit: 10, ...EXACT })
    const gate = gateOf({
      limiter,
      key: () => "me",
      skipFailedRequests: true,
      ...options,
    } as RateLimitOptions<Asked>)
    return { gate, left: async () => (await limiter.peek("me")).remaining }
  }

  it("gives back once, however often it is told", async () => {
    const { gate, left } = chargedGate()
    passOf(gate)
    const passage = passOf(gate)
    passage.settle(500)
    passage.settle(500)
    passage.settle("aborted")
    expect(await left()).toBe(9)
  })

  it("gives back the whole cost", async () => {
    const { gate, left } = chargedGate({ cost: 4 })
    passOf(gate).settle("error")
    expect(await left()).toBe(10)
  })

  it("believes the first ending", async () => {
    const { gate, left } = chargedGate()
    const passage = passOf(gate)
    passage.settle(200)
    passage.settle(500)
    expect(await left()).toBe(9)
  })

  it("counts an aborted request as failed, and never as successful", async () => {
    const failed = chargedGate()
    passOf(failed.gate).settle("aborted")
    expect(await failed.left()).toBe(10)
    const successful = chargedGate({ skipFailedRequests: false, skipSuccessfulRequests: true })
    passOf(successful.gate).settle("aborted")
    expect(await successful.left()).toBe(9)
  })

  it.each([
    [399, 9],
    [400, 10],
  ])("takes an answer of %i for what it is", async (status, expected) => {
    const { gate, left } = chargedGate()
    passOf(gate).settle(status)
    expect(await left()).toBe(expected)
  })

  it("asks requestWasSuccessful what success means, for answers only", async () => {
    const asked: number[] = []
    const { gate, left } = chargedGate({
      requestWasSuccessful(_request, status) {
        asked.push(status)
        return status === 404
      },
    })
    passOf(gate).settle(404)
    passOf(gate).settle(200)
    passOf(gate).settle("aborted")
    expect(asked).toEqual([404, 200])
    expect(await left()).toBe(9)
  })

  it("gives nothing back for a request that was denied, or that cost nothing", async () => {
    const { gate, left } = chargedGate({ cost: 10 })
    passOf(gate)
    const denied = passOf(gate)
    expect(denied.mustSettle).toBe(false)
    denied.settle(500)
    expect(await left()).toBe(0)
    expect(passOf(chargedGate({ cost: 0 }).gate).mustSettle).toBe(false)
  })

  it("need not be told how a request ends when nothing is ever given back", () => {
    expect(passOf(gateOf({ limit: 1, ...EXACT })).mustSettle).toBe(false)
  })
})

describe("holding", () => {
  const QUEUE = { algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "1s" } as const

  it("gives the place of a request back that left before it could be held", async () => {
    const clock = new ManualClock()
    const gate = gateOf({ ...QUEUE, clock })
    passOf(gate)
    expect(await passOf(gate).hold(AbortSignal.abort())).toBe(false)
    expect(gate.held).toBe(0)
    expect(passOf(gate).delayMs).toBe(100)
  })

  it("gives a place back once when the client of a held request leaves and the request is settled too", async () => {
    const clock = new ManualClock()
    const gate = gateOf({ ...QUEUE, clock, skipFailedRequests: true })
    passOf(gate)
    passOf(gate)
    const leaving = passOf(gate)
    await leaving.hold(AbortSignal.abort())
    leaving.settle("aborted")
    expect(passOf(gate).delayMs).toBe(200)
  })

  it("frees its place for the next when the turn has come", async () => {
    const clock = new ManualClock()
    const gate = gateOf({ ...QUEUE, clock, maxHeld: 1 })
    passOf(gate)
    const held = passOf(gate).hold()
    expect(passOf(gate)).toMatchObject({ allowed: false, decision: { retryAfterMs: 200, deniedBy: "10/1s" } })
    clock.advance(100)
    expect(await held).toBe(true)
    expect(passOf(gate).allowed).toBe(true)
  })
})

describe("failing", () => {
  async function closedStore() {
    const store = memoryStore()
    await store.close()
    return store
  }

  it("warns, once, of a store that throws when nobody listens to decisions", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    const gate = gateOf({ limit: 1, ...EXACT, store: await closedStore() })
    expect(passOf(gate).decision).toMatchObject({ allowed: true, degraded: "allow", remaining: 1 })
    passOf(gate)
    expect(warn.mock.calls).toMatchObject([[{ code: "STORE_CLOSED" }]])
  })

  it("gives nothing back for what could not be counted", async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    const gate = gateOf({ limit: 1, ...EXACT, store: await closedStore(), skipFailedRequests: true })
    expect(passOf(gate).mustSettle).toBe(false)
  })

  it("lets through, and shows no limit, when rules cannot be asked", async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    const rules = { version: 1 as const, rules: [{ id: "a", limits: [{ limit: 1, ...EXACT }] }] }
    const gate = gateOf({ engine: createRuleEngine({ rules, store: await closedStore() }) })
    expect(passOf(gate)).toMatchObject({ decision: { allowed: true, degraded: "allow" }, headers: [] })
  })
})

describe("with rules", () => {
  it("tells the engine who was verified, and of which tier", () => {
    const engine = createRuleEngine({
      rules: {
        version: 1,
        rules: [
          {
            id: "a",
            keyBy: "user",
            limits: [{ limit: 1, ...EXACT }],
            tiers: { gold: { limits: [{ limit: 9, ...EXACT }] } },
          },
        ],
      },
    })
    const gate = gateOf({ engine, user: ({ headers }) => headers?.id, tier: ({ headers }) => headers?.tier })
    const as = (id: string, tier: string) =>
      passOf(gate, { ip: "203.0.113.7", headers: { id, tier } }).decision
    expect(as("1", "gold")).toMatchObject({ limit: 9, remaining: 8 })
    expect(as("2", "none")).toMatchObject({ limit: 1, remaining: 0 })
    expect(as("2", "none")).toMatchObject({ allowed: false, rule: "a" })
    expect(as("1", "gold")).toMatchObject({ remaining: 7 })
  })

  it("sets no headers where no rule applies, whatever style the middleware wants", () => {
    const gate = gateOf({ engine: createRuleEngine({ rules: { version: 1, rules: [] } }), headers: "both" })
    expect(passOf(gate)).toMatchObject({ allowed: true, headers: [] })
  })

  it("says that a limit denied what found the holding room full", async () => {
    const clock = new ManualClock()
    const limits = [{ algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "1s" } as const]
    const rules = { version: 1 as const, rules: [{ id: "a", limits }] }
    const engine = createRuleEngine({ rules, store: memoryStore({ clock }), clock })
    const gate = gateOf({ engine, maxHeld: 0 })
    expect(passOf(gate).decision).toMatchObject({ allowed: true, reason: "within-limits" })
    expect(passOf(gate).decision).toMatchObject({
      allowed: false,
      reason: "limit",
      rule: "a",
      retryAfterMs: 100,
    })
    expect((await engine.peek({ ip: "203.0.113.7", path: "/" })).remaining).toBe(9)
  })

  it("lets the options of the middleware come before those of the rule", () => {
    const rule = {
      id: "a",
      limits: [{ limit: 1, ...EXACT }],
      headers: "legacy",
      response: { status: 503 },
    } as const
    const engine = createRuleEngine({ rules: { version: 1, rules: [{ ...rule, limits: [...rule.limits] }] } })
    const byRule = gateOf({ engine })
    expect(passOf(byRule).headers).toContain("x-ratelimit-limit")
    expect(passOf(byRule).headers).not.toContain("ratelimit")
    expect(passOf(byRule).denied?.status).toBe(503)
    const own = gateOf({ engine, headers: "draft-8", status: 420, body: "no" })
    expect(passOf(own).headers).not.toContain("x-ratelimit-limit")
    expect(passOf(own).denied).toMatchObject({ status: 420, body: "no" })
  })
})

it("closes a limiter of its own, and leaves a given one alone", async () => {
  const close = vi.fn(async () => undefined)
  const limiter = Object.assign(createLimiter({ limit: 1, ...EXACT }), { close })
  await gateOf({ limiter }).close()
  expect(close).not.toHaveBeenCalled()
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
  const own = gateOf({ limit: 1, ...EXACT })
  await own.close()
  expect(passOf(own).decision.degraded).toBe("allow")
  expect(warn).toHaveBeenCalledOnce()
})
