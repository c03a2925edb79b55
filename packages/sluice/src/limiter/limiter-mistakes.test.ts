// Every mistake in a call is a SluiceError with a code, the place, what was expected and what was found.

import { describe, expect, it } from "vitest"
import { SluiceError } from "../errors.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter, type Limiter } from "./limiter.js"
import { expectMistake, type Mistake } from "./mistake.test-support.js"

describe("a call refuses", () => {
  const keys: [what: string, key: unknown][] = [
    ["an empty key", ""],
    ["no key", undefined],
    ["a key of null", null],
    ["a number for a key", 42],
    ["an object for a key", { toString: () => "key" }],
  ]

  const invalidKey: Mistake = {
    code: "KEY_INVALID",
    place: "key",
    says: "must be a string that is not empty",
  }

  it.each(keys)("%s", async (_what, key) => {
    const limiter = createLimiter({ limit: 5, window: "1m" })
    const wrong = key as string
    await expectRejected(() => limiter.check(wrong), invalidKey)
    await expectRejected(() => limiter.check(wrong, { cost: 2 }), invalidKey)
    await expectRejected(() => limiter.peek(wrong), invalidKey)
    await expectRejected(() => limiter.refund(wrong), invalidKey)
    await expectRejected(() => limiter.reset(wrong), invalidKey)
    await expectRejected(() => limiter.block(wrong, "1s"), invalidKey)
    await expectRejected(() => limiter.unblock(wrong), invalidKey)
    await expectRejected(() => limiter.wait(wrong), invalidKey)
    await expectRejected(() => limiter.checkMany([{ key: wrong }]), invalidKey)
    expect(() => limiter.checkSync(wrong)).toThrow(expect.objectContaining({ code: "KEY_INVALID" }))
    await limiter.close()
  })

  const calls: [what: string, options: unknown, mistake: Mistake][] = [
    [
      "a cost below zero",
      { cost: -1 },
      { code: "COST_INVALID", place: "cost", says: "must be an integer ≥ 0, got -1", found: -1 },
    ],
    ["half a cost", { cost: 0.5 }, { code: "COST_INVALID", place: "cost", says: "got 0.5" }],
    ["a cost of NaN", { cost: Number.NaN }, { code: "COST_INVALID", place: "cost", says: "got NaN" }],
    [
      "a cost without end",
      { cost: Number.POSITIVE_INFINITY },
      { code: "COST_INVALID", place: "cost", says: "got Infinity" },
    ],
    [
      "a cost beyond whole numbers",
      { cost: 2 ** 53 },
      { code: "COST_INVALID", place: "cost", says: "got 9007199254740992" },
    ],
    ["a cost as text", { cost: "1" }, { code: "COST_INVALID", place: "cost", says: 'got "1"' }],
    ["a cost of null", { cost: null }, { code: "COST_INVALID", place: "cost", says: "got null" }],
    ["a bigint cost", { cost: 1n }, { code: "COST_INVALID", place: "cost", says: "got 1n" }],
    [
      "a time before 1970",
      { at: -1 },
      { code: "TIME_INVALID", place: "at", says: "milliseconds since 1970, got -1" },
    ],
    [
      "a time in microseconds",
      { at: Date.now() * 1000 },
      { code: "TIME_INVALID", place: "at", says: "milliseconds since 1970" },
    ],
    ["a time of NaN", { at: Number.NaN }, { code: "TIME_INVALID", place: "at", says: "got NaN" }],
    ["a time as text", { at: "2026-01-01" }, { code: "TIME_INVALID", place: "at", says: 'got "2026-01-01"' }],
    ["a time as a Date", { at: new Date() }, { code: "TIME_INVALID", place: "at", says: "got an object" }],
    ["a time of null", { at: null }, { code: "TIME_INVALID", place: "at", says: "got null" }],
    [
      "limit 0",
      { limit: 0 },
      { code: "LIMIT_INVALID", place: "limit", says: "must be an integer ≥ 1, got 0" },
    ],
    ["a limit as text", { limit: "5" }, { code: "LIMIT_INVALID", place: "limit", says: 'got "5"' }],
    ["a limit of null", { limit: null }, { code: "LIMIT_INVALID", place: "limit", says: "got null" }],
    ["a burst of half", { burst: 0.5 }, { code: "LIMIT_INVALID", place: "burst", says: "got 0.5" }],
    [
      "a limit too large",
      { limit: 2 ** 49 + 1 },
      { code: "POLICY_TOO_LARGE", place: "limit", says: "too large for exact arithmetic" },
    ],
    [
      "a misspelt option",
      { costs: 2 },
      { code: "OPTION_UNKNOWN", place: "check.costs", says: "did you mean cost?" },
    ],
    [
      "another window",
      { window: "1h" },
      { code: "OPTION_UNKNOWN", place: "check.window", says: "is not one of cost, at, limit, burst" },
    ],
    [
      "a cost instead of options",
      5,
      { code: "OPTION_TYPE", place: "check", says: "must be an object, got 5" },
    ],
    ["null", null, { code: "OPTION_TYPE", place: "check", says: "must be an object, got null" }],
    ["a list", [], { code: "OPTION_TYPE", place: "check", says: "must be an object, got an array" }],
  ]

  it.each(calls)("%s", async (_what, options, mistake) => {
    const limiter = createLimiter({
      algorithm: "token-bucket",
      limit: 5,
      window: "1m",
      clock: new ManualClock(),
    })
    // A value that is right must not make way for one that looks like it.
    await limiter.check("key", { limit: 5, cost: 1 })
    await limiter.check("key", { limit: 5, burst: 5 })
    await expectRejected(() => limiter.check("key", options as object), mistake)
    expect(() => limiter.checkSync("key", options as object)).toThrow(SluiceError)
    expect((await limiter.peek("key")).remaining).toBe(3)
  })

  it("a burst where there is none", async () => {
    const limiter = createLimiter({ limit: 5, window: "1m" })
    await expectRejected(() => limiter.check("key", { burst: 5 }), {
      code: "OPTION_CONFLICT",
      place: "burst",
      says: "token-bucket, leaky-bucket and gcra only",
    })
    await limiter.close()
  })

  it("another limit where there are several", async () => {
    const limiter = createLimiter({
      limits: [
        { limit: 5, window: "1m" },
        { limit: 50, window: "1h" },
      ],
    })
    await expectRejected(() => limiter.check("key", { limit: 7 }), {
      code: "OPTION_CONFLICT",
      place: "check",
      says: /one limit|single limit/,
    })
    await limiter.close()
  })

  it("a refund that is no whole number of units", async () => {
    const limiter = createLimiter({ limit: 5, window: "1m" })
    for (const cost of [-1, 0.5, Number.NaN, "2" as unknown as number]) {
      await expectRejected(() => limiter.refund("key", cost), {
        code: "COST_INVALID",
        place: "cost",
        says: "≥ 0",
      })
    }
    await limiter.close()
  })

  const waits: [what: string, options: object, mistake: Mistake][] = [
    [
      "a signal that is none",
      { signal: {} },
      { code: "OPTION_TYPE", place: "wait.signal", says: "an AbortSignal" },
    ],
    [
      "a wait below zero",
      { maxWaitMs: -1 },
      { code: "OPTION_TYPE", place: "wait.maxWaitMs", says: "milliseconds ≥ 0" },
    ],
    [
      "a wait of NaN",
      { maxWaitMs: Number.NaN },
      { code: "OPTION_TYPE", place: "wait.maxWaitMs", says: "got NaN" },
    ],
    [
      "a wait as text",
      { maxWaitMs: "1s" },
      { code: "OPTION_TYPE", place: "wait.maxWaitMs", says: 'got "1s"' },
    ],
    [
      "a misspelt option",
      { maxWait: 5 },
      { code: "OPTION_UNKNOWN", place: "wait.maxWait", says: "did you mean maxWaitMs?" },
    ],
    ["a time of its own", { at: 0 }, { code: "OPTION_UNKNOWN", place: "wait.at", says: "is not one of" }],
    ["a wrong cost", { cost: -1 }, { code: "COST_INVALID", place: "cost", says: "≥ 0" }],
  ]

  it.each(waits)("to wait with %s", async (_what, options, mistake) => {
    const limiter: Limiter = createLimiter({ limit: 5, window: "1m" })
    await expectRejected(() => limiter.wait("key", options), mistake)
    await limiter.close()
  })
})

async function expectRejected(call: () => Promise<unknown>, mistake: Mistake): Promise<void> {
  const error = await call().then(
    (value) => expect.fail(`resolved with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  expectMistake(error, mistake)
}
