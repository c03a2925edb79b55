import { afterEach, describe, expect, it, vi } from "vitest"
import type { SluiceError } from "../../errors.js"
import { createLimiter } from "../../limiter/limiter.js"
import { createRuleEngine } from "../../rules/index.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { ManualClock } from "../../testing/manual-clock.js"
import type { Admission } from "./admission.js"
import type { RateLimitOptions } from "./rate-limit-options.js"
import { RequestLimiter } from "./request-limiter.js"
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

function limiterWith(options: RateLimitOptions<Asked>): RequestLimiter<Asked> {
  return new RequestLimiter(options, reader)
}

/** Admits a request on a memory store, where no promise is needed. */
function admit(limiter: RequestLimiter<Asked>, asked: Asked = { ip: "203.0.113.7" }): Admission<Asked> {
  const admission = limiter.admit(asked)
  if (admission === undefined || admission instanceof Promise) throw new Error("not decided at once")
  return admission
}

const EXACT = { algorithm: "sliding-window-log", window: "1h" } as const

afterEach(() => {
  vi.restoreAllMocks()
})

it("tells all mistakes of its options at once, those of the limit and of keys too", () => {
  const wrong = {
    max: 5,
    limit: 0,
    window: "soon",
    onStoreFailure: "open",
    status: 200,
    keyBy: "ips",
    trustProxy: -1,
    skip: 1,
  }
  let found: SluiceError | undefined
  try {
    limiterWith(wrong as never)
  } catch (error) {
    found = error as SluiceError
  }
  const places = [found, ...(found?.others ?? [])].map((error) => error?.place.replace("rateLimit.", ""))
  expect(places.sort()).toEqual([
    "keyBy",
    "limit",
    "max",
    "onStoreFailure",
    "skip",
    "status",
    "trustProxy",
    "window",
  ])
})

it("awaits an async tier", async () => {
  const rule = { id: "a", limits: [{ limit: 1, ...EXACT }], tiers: { pro: "unlimited" as const } }
  const engine = createRuleEngine({ rules: { version: 1, rules: [rule] } })
  const limited = limiterWith({ engine, tier: async () => "pro" })
  for (let i = 0; i < 2; i++) expect((await limited.admit({ ip: "203.0.113.7" }))?.allowed).toBe(true)
})

describe("without a promise", () => {
  it("decides synchronously on a memory store when no function is async", () => {
    const limited = limiterWith({ limit: 1, ...EXACT, cost: () => 1, skip: () => false, key: () => "me" })
    expect(admit(limited).allowed).toBe(true)
    expect(admit(limited).denied?.status).toBe(429)
  })

  it("decides synchronously with a rule engine on a memory store", () => {
    const engine = createRuleEngine({
      rules: { version: 1, rules: [{ id: "a", limits: [{ limit: 1, ...EXACT }] }] },
    })
    const limited = limiterWith({ engine })
    expect(admit(limited).allowed).toBe(true)
    expect(admit(limited).allowed).toBe(false)
  })

  it("accepts promises of other libraries", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested.
    const thenable = { then: (resolve: (key: string) => void) => resolve("me") } as unknown as Promise<string>
    const admission = limiterWith({ limit: 5, ...EXACT, key: () => thenable }).admit({})
    expect(admission).toBeInstanceOf(Promise)
    expect((await admission)?.key).toBe("me")
  })

  it("returns a promise only when a function is async", async () => {
    const limited = limiterWith({ limit: 5, ...EXACT, cost: async () => 2 })
    const admission = limited.admit({ ip: "203.0.113.7" })
    expect(admission).toBeInstanceOf(Promise)
    expect((await admission)?.decision.remaining).toBe(3)
  })
})

describe("errors of the application's functions", () => {
  it("are rethrown, also with a rule engine", () => {
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
      expect(() => limiterWith(options).admit({})).toThrow("mine")
    }
  })

  it.each([
    [{ key: () => "" }, "KEY_INVALID"],
    [{ key: () => 42 as never }, "KEY_INVALID"],
    [{ cost: () => -1 }, "COST_INVALID"],
    [{ cost: () => Number.NaN }, "COST_INVALID"],
  ])("refuses an invalid key or cost: %o", (options, code) => {
    expect(() => limiterWith({ limit: 1, ...EXACT, ...options }).admit({})).toThrow(
      expect.objectContaining({ code }),
    )
  })
})

describe("settling", () => {
  function charged(options: Partial<RateLimitOptions<Asked>> = {}) {
    const limiter = createLimiter({ limit: 10, ...EXACT })
    const limited = limiterWith({
      limiter,
      key: () => "me",
      skipFailedRequests: true,
      ...options,
    } as RateLimitOptions<Asked>)
    return { limited, left: async () => (await limiter.peek("me")).remaining }
  }

  it("refunds once, however often it is called", async () => {
    const { limited, left } = charged()
    admit(limited)
    const admission = admit(limited)
    admission.settle(500)
    admission.settle(500)
    admission.settle("aborted")
    expect(await left()).toBe(9)
  })

  it("refunds the whole cost", async () => {
    const { limited, left } = charged({ cost: 4 })
    admit(limited).settle("error")
    expect(await left()).toBe(10)
  })

  it("uses the first ending", async () => {
    const { limited, left } = charged()
    const admission = admit(limited)
    admission.settle(200)
    admission.settle(500)
    expect(await left()).toBe(9)
  })

  it("counts an aborted request as failed, and never as successful", async () => {
    const failed = charged()
    admit(failed.limited).settle("aborted")
    expect(await failed.left()).toBe(10)
    const successful = charged({ skipFailedRequests: false, skipSuccessfulRequests: true })
    admit(successful.limited).settle("aborted")
    expect(await successful.left()).toBe(9)
  })

  it.each([
    [399, 9],
    [400, 10],
  ])("settles a status of %i", async (status, expected) => {
    const { limited, left } = charged()
    admit(limited).settle(status)
    expect(await left()).toBe(expected)
  })

  it("calls requestWasSuccessful for responses only", async () => {
    const asked: number[] = []
    const { limited, left } = charged({
      requestWasSuccessful(_request, status) {
        asked.push(status)
        return status === 404
      },
    })
    admit(limited).settle(404)
    admit(limited).settle(200)
    admit(limited).settle("aborted")
    expect(asked).toEqual([404, 200])
    expect(await left()).toBe(9)
  })

  it("refunds nothing for a request that was denied or cost nothing", async () => {
    const { limited, left } = charged({ cost: 10 })
    admit(limited)
    const denied = admit(limited)
    expect(denied.mustSettle).toBe(false)
    denied.settle(500)
    expect(await left()).toBe(0)
    expect(admit(charged({ cost: 0 }).limited).mustSettle).toBe(false)
  })

  it("need not settle when nothing is ever refunded", () => {
    expect(admit(limiterWith({ limit: 1, ...EXACT })).mustSettle).toBe(false)
  })
})

describe("delaying", () => {
  const QUEUE = { algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "1s" } as const

  it("refunds a request whose client left before the delay", async () => {
    const clock = new ManualClock()
    const limited = limiterWith({ ...QUEUE, clock })
    admit(limited)
    expect(await admit(limited).delay(AbortSignal.abort())).toBe(false)
    expect(limited.held).toBe(0)
    expect(admit(limited).delayMs).toBe(100)
  })

  it("refunds once when the client of a delayed request leaves and the request is settled too", async () => {
    const clock = new ManualClock()
    const limited = limiterWith({ ...QUEUE, clock, skipFailedRequests: true })
    admit(limited)
    admit(limited)
    const leaving = admit(limited)
    await leaving.delay(AbortSignal.abort())
    leaving.settle("aborted")
    expect(admit(limited).delayMs).toBe(200)
  })

  it("frees its place in the queue at its turn", async () => {
    const clock = new ManualClock()
    const limited = limiterWith({ ...QUEUE, clock, maxHeld: 1 })
    admit(limited)
    const held = admit(limited).delay()
    expect(admit(limited)).toMatchObject({
      allowed: false,
      decision: { retryAfterMs: 200, deniedBy: "10/1s" },
    })
    clock.advance(100)
    expect(await held).toBe(true)
    expect(admit(limited).allowed).toBe(true)
  })
})

describe("failing", () => {
  async function closedStore() {
    const store = memoryStore()
    await store.close()
    return store
  }

  it("warns once of a store that throws when there is no onDecision", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    const limited = limiterWith({ limit: 1, ...EXACT, store: await closedStore() })
    expect(admit(limited).decision).toMatchObject({ allowed: true, degraded: "allow", remaining: 1 })
    admit(limited)
    expect(warn.mock.calls).toMatchObject([[{ code: "STORE_CLOSED" }]])
  })

  it("refunds nothing for a request that could not be counted", async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    const limited = limiterWith({ limit: 1, ...EXACT, store: await closedStore(), skipFailedRequests: true })
    expect(admit(limited).mustSettle).toBe(false)
  })

  it("allows requests and shows no limit when the store of the rules throws", async () => {
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    const rules = { version: 1 as const, rules: [{ id: "a", limits: [{ limit: 1, ...EXACT }] }] }
    const limited = limiterWith({ engine: createRuleEngine({ rules, store: await closedStore() }) })
    expect(admit(limited)).toMatchObject({ decision: { allowed: true, degraded: "allow" }, headers: [] })
  })
})

describe("with rules", () => {
  it("passes the user and the tier to the engine", () => {
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
    const limited = limiterWith({
      engine,
      user: ({ headers }) => headers?.id,
      tier: ({ headers }) => headers?.tier,
    })
    const as = (id: string, tier: string) =>
      admit(limited, { ip: "203.0.113.7", headers: { id, tier } }).decision
    expect(as("1", "gold")).toMatchObject({ limit: 9, remaining: 8 })
    expect(as("2", "none")).toMatchObject({ limit: 1, remaining: 0 })
    expect(as("2", "none")).toMatchObject({ allowed: false, rule: "a" })
    expect(as("1", "gold")).toMatchObject({ remaining: 7 })
  })

  it("sets no headers when no rule applies, whatever the style", () => {
    const limited = limiterWith({
      engine: createRuleEngine({ rules: { version: 1, rules: [] } }),
      headers: "both",
    })
    expect(admit(limited)).toMatchObject({ allowed: true, headers: [] })
  })

  it("denies by the limit when the delay queue is full", async () => {
    const clock = new ManualClock()
    const limits = [{ algorithm: "leaky-bucket", overflow: "queue", limit: 10, window: "1s" } as const]
    const rules = { version: 1 as const, rules: [{ id: "a", limits }] }
    const engine = createRuleEngine({ rules, store: memoryStore({ clock }), clock })
    const limited = limiterWith({ engine, maxHeld: 0 })
    expect(admit(limited).decision).toMatchObject({ allowed: true, reason: "within-limits" })
    expect(admit(limited).decision).toMatchObject({
      allowed: false,
      reason: "limit",
      rule: "a",
      retryAfterMs: 100,
    })
    expect((await engine.peek({ ip: "203.0.113.7", path: "/" })).remaining).toBe(9)
  })

  it("prefers the options of the middleware to those of the rule", () => {
    const rule = {
      id: "a",
      limits: [{ limit: 1, ...EXACT }],
      headers: "legacy",
      response: { status: 503 },
    } as const
    const engine = createRuleEngine({ rules: { version: 1, rules: [{ ...rule, limits: [...rule.limits] }] } })
    const byRule = limiterWith({ engine })
    expect(admit(byRule).headers).toContain("x-ratelimit-limit")
    expect(admit(byRule).headers).not.toContain("ratelimit")
    expect(admit(byRule).denied?.status).toBe(503)
    const own = limiterWith({ engine, headers: "draft-8", status: 420, body: "no" })
    expect(admit(own).headers).not.toContain("x-ratelimit-limit")
    expect(admit(own).denied).toMatchObject({ status: 420, body: "no" })
  })
})

it("closes the limiter that it created, and no other", async () => {
  const close = vi.fn(async () => undefined)
  const limiter = Object.assign(createLimiter({ limit: 1, ...EXACT }), { close })
  await limiterWith({ limiter }).close()
  expect(close).not.toHaveBeenCalled()
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
  const own = limiterWith({ limit: 1, ...EXACT })
  await own.close()
  expect(admit(own).decision.degraded).toBe("allow")
  expect(warn).toHaveBeenCalledOnce()
})

it.each([0, 1.5, Number.NaN, "5", undefined])("throws when a limit function returns %j", (found) => {
  const limiter = limiterWith({ limit: () => found as number, window: "1m" })
  expect(() => limiter.admit({})).toThrow("rateLimit.limit: must return an integer ≥ 1")
})

it("warns of two limit functions without a name that share their counters", () => {
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
  const options = { limit: () => 5, window: "1m", store: memoryStore() }
  limiterWith({ ...options, name: "login" })
  limiterWith({ ...options, prefix: "search" })
  limiterWith(options)
  expect(warned).not.toHaveBeenCalled()
  limiterWith(options)
  expect(String(warned.mock.calls[0]?.[0])).toContain("a function per 1m on this store")
})
