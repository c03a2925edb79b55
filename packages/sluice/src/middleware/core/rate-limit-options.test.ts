import { afterEach, describe, expect, it, vi } from "vitest"
import { createLimiter } from "../../limiter/limiter.js"
import { createRuleEngine } from "../../rules/index.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import {
  type AnyRateLimitOptions,
  checkRateLimitOptions,
  limiterOf,
  type RateLimitOptions,
} from "./rate-limit-options.js"

const numbers = { limit: 5, window: "1m" } as const
const limiter = createLimiter(numbers)
const engine = createRuleEngine({ rules: { version: 1, rules: [] } })

function check(options: object): AnyRateLimitOptions<object> {
  return checkRateLimitOptions(options as RateLimitOptions<object>, ["onDenied"])
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe("an invalid option", () => {
  it.each<[object, string, string]>([
    [{ limt: 5 }, "OPTION_UNKNOWN", "rateLimit.limt"],
    [{ ...numbers, skipFailed: true }, "OPTION_UNKNOWN", "rateLimit.skipFailed"],
    [{ ...numbers, skip: true }, "OPTION_TYPE", "rateLimit.skip"],
    [{ ...numbers, key: "ip" }, "OPTION_TYPE", "rateLimit.key"],
    [{ ...numbers, user: "me" }, "OPTION_TYPE", "rateLimit.user"],
    [{ ...numbers, onDecision: {} }, "OPTION_TYPE", "rateLimit.onDecision"],
    [{ ...numbers, requestWasSuccessful: 200 }, "OPTION_TYPE", "rateLimit.requestWasSuccessful"],
    [{ ...numbers, skipFailedRequests: "yes" }, "OPTION_TYPE", "rateLimit.skipFailedRequests"],
    [{ ...numbers, skipSuccessfulRequests: 1 }, "OPTION_TYPE", "rateLimit.skipSuccessfulRequests"],
    [{ ...numbers, cost: -1 }, "OPTION_TYPE", "rateLimit.cost"],
    [{ ...numbers, cost: 1.5 }, "OPTION_TYPE", "rateLimit.cost"],
    [{ ...numbers, headers: "draft-9" }, "OPTION_TYPE", "rateLimit.headers"],
    [{ ...numbers, status: 200 }, "OPTION_TYPE", "rateLimit.status"],
    [{ ...numbers, body: 7 }, "OPTION_TYPE", "rateLimit.body"],
    [{ ...numbers, contentType: "text/plain\r\nx: y" }, "OPTION_TYPE", "rateLimit.contentType"],
    [{ ...numbers, maxHeld: -1 }, "OPTION_TYPE", "rateLimit.maxHeld"],
    [{ ...numbers, ipv6Subnet: 129 }, "OPTION_TYPE", "rateLimit.ipv6Subnet"],
    [{ ...numbers, onMissingKey: "deny" }, "OPTION_TYPE", "rateLimit.onMissingKey"],
    [{ limiter, onStoreFailure: "open" }, "OPTION_TYPE", "rateLimit.onStoreFailure"],
    [{ ...numbers, key: () => "a", keyBy: "ip" }, "OPTION_CONFLICT", "rateLimit.keyBy"],
    [{ ...numbers, proxyHeader: "forwarded" }, "OPTION_CONFLICT", "rateLimit.proxyHeader"],
    [{ ...numbers, tier: () => "gold" }, "OPTION_CONFLICT", "rateLimit.tier"],
    [{ limiter: {} }, "OPTION_TYPE", "rateLimit.limiter"],
    [{ limiter, limit: 5 }, "OPTION_CONFLICT", "rateLimit.limit"],
    [{ limiter, store: memoryStore() }, "OPTION_CONFLICT", "rateLimit.store"],
    [{ engine: {} }, "OPTION_TYPE", "rateLimit.engine"],
    [{ engine, limiter }, "OPTION_CONFLICT", "rateLimit.limiter"],
    [{ engine, window: "1m" }, "OPTION_CONFLICT", "rateLimit.window"],
    [{ engine, keyBy: "ip" }, "OPTION_CONFLICT", "rateLimit.keyBy"],
    [{ engine, onStoreFailure: "deny" }, "OPTION_CONFLICT", "rateLimit.onStoreFailure"],
  ])("in %o is %s at %s", (options, code, place) => {
    expect(() => check(options)).toThrow(expect.objectContaining({ code, place }))
  })

  it.each([undefined, null, 5, "100/1m", []])("is a value that is not an object: %o", (options) => {
    expect(() => check(options as object)).toThrow(
      expect.objectContaining({ code: "OPTION_TYPE", place: "rateLimit" }),
    )
  })

  it.each<[object, string, string]>([
    [{}, "OPTION_MISSING", "rateLimit.limit"],
    [{ limit: 0, window: "1m" }, "LIMIT_INVALID", "rateLimit.limit"],
    [{ limit: 5, window: "soon" }, "WINDOW_INVALID", "rateLimit.window"],
    [{ limits: [] }, "OPTION_TYPE", "rateLimit.limits"],
    [{ limits: [{ limit: 5 }] }, "OPTION_MISSING", "limits[0].window"],
  ])("in the limits of %o is reported where the user wrote it: %s at %s", (options, code, place) => {
    expect(() => limiterOf(check(options))).toThrow(expect.objectContaining({ code, place }))
  })

  it("is not an option of the framework's middleware", () => {
    expect(check({ ...numbers, onDenied: () => undefined })).toHaveProperty("onDenied")
  })
})

describe("two middlewares in one store", () => {
  function warningsOf(...all: readonly object[]): unknown[] {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    const store = memoryStore()
    for (const options of all) limiterOf(check({ store, ...options }))
    return warn.mock.calls.map(([warning]) => warning)
  }

  it("cause a warning when they have the same limits and no name, and so the same counters", () => {
    expect(warningsOf(numbers, numbers)).toMatchObject([{ code: "LIMITERS_UNNAMED" }])
  })

  it.each<[string, object]>([
    ["a name", { name: "login" }],
    ["a prefix", { prefix: "login" }],
    ["a limit", { limit: 100 }],
    ["a window", { window: "1h" }],
    ["an algorithm", { algorithm: "token-bucket" }],
  ])("cause none with %s of their own", (_what, own) => {
    expect(warningsOf(numbers, { ...numbers, ...own })).toEqual([])
  })

  it("cause none with the same name, which is meant", () => {
    const named = { ...numbers, name: "api" }
    expect(warningsOf(named, named)).toEqual([])
  })

  it("cause none without a given store", () => {
    const own = { ...numbers, store: undefined }
    expect(warningsOf(own, own)).toEqual([])
  })
})
