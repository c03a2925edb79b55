import { parseRateLimit } from "ratelimit-header-parser"
import { parseList } from "structured-headers"
import { describe, expect, it } from "vitest"
import type { HeaderStyle } from "../../header-style.js"
import { createLimiter } from "../../limiter/limiter.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { type HeaderDecision, type HeaderOptions, headerWriter } from "./headers.js"

const policies = [
  { name: "per-minute", quota: 50, windowMs: 60_000 },
  { name: "per-hour", quota: 1000, windowMs: 3_600_000 },
]

/** One limit: 12 of 50 left, fully reset in 29.001 s. */
const allowed: HeaderDecision = {
  allowed: true,
  limit: 50,
  remaining: 12,
  retryAfterMs: 0,
  resetAfterMs: 29_000.001,
  resetAt: 1_767_225_629_000.001,
}

/** Two limits, the second with less left. */
const two: HeaderDecision = {
  ...allowed,
  limit: 1000,
  remaining: 3,
  limits: [
    { ...allowed, name: "per-minute" },
    {
      name: "per-hour",
      limit: 1000,
      remaining: 3,
      retryAfterMs: 0,
      resetAfterMs: 3000,
      resetAt: 1_767_225_603_000,
    },
  ],
}

/** Denied by the hour, for longer than the minute needs. */
const denied: HeaderDecision = {
  allowed: false,
  limit: 50,
  remaining: 1,
  retryAfterMs: 90_500,
  resetAfterMs: 3_000_000,
  resetAt: 1_767_228_600_000,
  limits: [
    {
      name: "per-minute",
      limit: 50,
      remaining: 1,
      retryAfterMs: 2000,
      resetAfterMs: 5000,
      resetAt: 1_767_225_605_000,
    },
    {
      name: "per-hour",
      limit: 1000,
      remaining: 2,
      retryAfterMs: 90_500,
      resetAfterMs: 3e6,
      resetAt: 1_767_228_600_000,
    },
  ],
}

function headersOf(
  decision: HeaderDecision,
  options: Partial<HeaderOptions> = {},
  partitionKey?: string,
): Record<string, string> {
  const headers: Record<string, string> = {}
  const writer = headerWriter({
    policies: decision.limits === undefined ? policies.slice(0, 1) : policies,
    ...options,
  })
  writer.write(
    decision,
    (name, value) => {
      expect(headers).not.toHaveProperty(name)
      headers[name] = value
    },
    partitionKey,
  )
  return headers
}

/** What a structured-field parser reads: `[["per-minute", { r: 12, t: 30 }]]`. */
function listOf(value: string | undefined): unknown[] {
  return parseList(value ?? "").map(([item, parameters]) => [item, Object.fromEntries(parameters)])
}

describe("headerWriter", () => {
  it.each<[HeaderStyle, Record<string, string>]>([
    ["none", {}],
    [
      "legacy",
      { "x-ratelimit-limit": "50", "x-ratelimit-remaining": "12", "x-ratelimit-reset": "1767225630" },
    ],
    [
      "draft-6",
      {
        "ratelimit-policy": "50;w=60",
        "ratelimit-limit": "50",
        "ratelimit-remaining": "12",
        "ratelimit-reset": "30",
      },
    ],
    ["draft-7", { "ratelimit-policy": "50;w=60", ratelimit: "limit=50, remaining=12, reset=30" }],
    ["draft-8", { "ratelimit-policy": '"per-minute";q=50;w=60', ratelimit: '"per-minute";r=12;t=30' }],
  ])("writes an allowed decision as %s", (style, headers) => {
    expect(headersOf(allowed, { style })).toEqual(headers)
  })

  it("writes legacy and draft-8 headers by default", () => {
    expect(headersOf(allowed)).toEqual({
      ...headersOf(allowed, { style: "legacy" }),
      ...headersOf(allowed, { style: "draft-8" }),
    })
  })

  it("refuses a style that does not exist", () => {
    expect(() => headerWriter({ style: "draft-9" as HeaderStyle, policies })).toThrow(
      expect.objectContaining({ code: "OPTION_TYPE", place: "headers" }),
    )
  })

  it.each<HeaderStyle>(["legacy", "draft-6", "draft-7"])(
    "is understood by ratelimit-header-parser as %s",
    (style) => {
      const now = Date.now()
      const decision = { ...allowed, resetAt: now + allowed.resetAfterMs }
      const parsed = parseRateLimit(headersOf(decision, { style }))
      expect(parsed).toMatchObject({ limit: 50, remaining: 12, used: 38 })
      const wait = Number(parsed?.reset) - now
      expect(wait).toBeGreaterThanOrEqual(29_000)
      expect(wait).toBeLessThan(35_000)
    },
  )

  it("writes a list member for each limit that a structured-field parser reads", () => {
    const headers = headersOf(two)
    expect(listOf(headers["ratelimit-policy"])).toEqual([
      ["per-minute", { q: 50, w: 60 }],
      ["per-hour", { q: 1000, w: 3600 }],
    ])
    expect(listOf(headers.ratelimit)).toEqual([
      ["per-minute", { r: 12, t: 30 }],
      ["per-hour", { r: 3, t: 3 }],
    ])
  })

  it.each<[HeaderStyle, Record<string, string>]>([
    [
      "legacy",
      { "x-ratelimit-limit": "1000", "x-ratelimit-remaining": "3", "x-ratelimit-reset": "1767225603" },
    ],
    [
      "draft-6",
      {
        "ratelimit-policy": "50;w=60, 1000;w=3600",
        "ratelimit-limit": "1000",
        "ratelimit-remaining": "3",
        "ratelimit-reset": "3",
      },
    ],
    [
      "draft-7",
      { "ratelimit-policy": "50;w=60, 1000;w=3600", ratelimit: "limit=1000, remaining=3, reset=3" },
    ],
  ])("shows the limit with the least remaining in headers with room for one: %s", (style, headers) => {
    expect(headersOf(two, { style })).toEqual(headers)
  })

  it("shows the limit that denies for longest, and the wait of each limit that denies", () => {
    const headers = headersOf(denied)
    expect(headers).toMatchObject({
      "retry-after": "91",
      "x-ratelimit-limit": "1000",
      "x-ratelimit-remaining": "2",
      "x-ratelimit-reset": "1767228600",
    })
    expect(listOf(headers.ratelimit)).toEqual([
      ["per-minute", { r: 1, t: 2 }],
      ["per-hour", { r: 2, t: 91 }],
    ])
    expect(headersOf(denied, { style: "draft-7" })).toMatchObject({
      ratelimit: "limit=1000, remaining=2, reset=91",
    })
  })

  it("leaves out t when it would be later than retry-after", () => {
    const [minute, hour] = denied.limits ?? []
    const byMinute = { ...denied, retryAfterMs: 2000, limits: [minute!, { ...hour!, retryAfterMs: 0 }] }
    const headers = headersOf(byMinute)
    expect(headers["retry-after"]).toBe("2")
    expect(listOf(headers.ratelimit)).toEqual([
      ["per-minute", { r: 1, t: 2 }],
      ["per-hour", { r: 2 }],
    ])
  })

  it("writes no retry-after for a cost that never fits, nor for an allowed request", () => {
    const never = headersOf({ ...allowed, allowed: false, retryAfterMs: Infinity })
    expect(never).not.toHaveProperty("retry-after")
    expect(listOf(never.ratelimit)).toEqual([["per-minute", { r: 12, t: 30 }]])
    expect(headersOf(allowed)).not.toHaveProperty("retry-after")
  })

  it.each([
    [() => 1500, "12"],
    [() => 0, "11"],
    [() => -5000, "11"],
    [() => Number.NaN, "11"],
    [(wait: number) => wait, "21"],
  ])("adds jitter to retry-after and never subtracts from it: %s", (jitter, seconds) => {
    const decision = { ...allowed, allowed: false, remaining: 0, retryAfterMs: 10_001 }
    expect(headersOf(decision, { jitter })["retry-after"]).toBe(seconds)
  })

  it("shows 0 remaining for every limit while the key is blocked", async () => {
    const clock = new ManualClock()
    const limiter = createLimiter({
      limits: [
        { limit: 5, window: "1s" },
        { limit: 9, window: "1m" },
      ],
      clock,
    })
    await limiter.block("user:42", "2m")
    const names = [
      { name: "5/1s", quota: 5, windowMs: 1000 },
      { name: "9/1m", quota: 9, windowMs: 60_000 },
    ]
    const headers = headersOf(await limiter.check("user:42"), { policies: names })
    expect(headers).toMatchObject({
      "retry-after": "120",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-limit": "5",
    })
    expect(listOf(headers.ratelimit)).toEqual([
      ["5/1s", { r: 0, t: 120 }],
      ["9/1m", { r: 0, t: 120 }],
    ])
    await limiter.close()
  })

  it("accepts a limiter's decisions", async () => {
    const clock = new ManualClock()
    const limiter = createLimiter({ limit: 1, window: "1m", algorithm: "fixed-window", name: "login", clock })
    const policies = [{ name: "login", quota: 1, windowMs: 60_000 }]
    const first = headersOf(await limiter.check("user:42"), { policies })
    const second = headersOf(await limiter.check("user:42"), { policies })
    expect(first).toMatchObject({ "x-ratelimit-remaining": "0" })
    expect(first).not.toHaveProperty("retry-after")
    expect(Number(second["retry-after"])).toBeGreaterThan(0)
    expect(second.ratelimit).toBe(`"login";r=0;t=${second["retry-after"]}`)
    await limiter.close()
  })

  it.each([
    ["plain", "plain"],
    ['a "b" \\c', 'a "b" \\c'],
    ["größe", "gr__e"],
    ["a\r\nset-cookie: x", "a__set-cookie: x"],
    ["🚦", "_"],
  ])("keeps the name %j a valid structured string", (name, shown) => {
    const headers = headersOf(allowed, { policies: [{ name, quota: 50, windowMs: 60_000 }] })
    expect(listOf(headers.ratelimit)).toEqual([[shown, { r: 12, t: 30 }]])
    expect(listOf(headers["ratelimit-policy"])).toEqual([[shown, { q: 50, w: 60 }]])
  })

  it("keeps numbers within the range of a structured field", () => {
    const huge = { ...allowed, limit: 2 ** 50, remaining: Infinity, resetAfterMs: 1e300, resetAt: 1e300 }
    const headers = headersOf(huge, { policies: [{ name: "huge", quota: 2 ** 50, windowMs: 1e300 }] })
    const most = 999_999_999_999_999
    expect(listOf(headers.ratelimit)).toEqual([["huge", { r: most, t: most }]])
    expect(listOf(headers["ratelimit-policy"])).toEqual([["huge", { q: most, w: most }]])
    expect(headers["x-ratelimit-limit"]).toBe(String(most))
  })

  it.each([
    [1, 1],
    [999, 1],
    [1000, 1],
    [1500, 2],
    [60_000, 60],
  ])("shows a window of %i ms as %i s", (windowMs, w) => {
    const headers = headersOf(allowed, { policies: [{ name: "x", quota: 5, windowMs }] })
    expect(listOf(headers["ratelimit-policy"])).toEqual([["x", { q: 5, w }]])
  })

  it("names the unit when it is not requests", () => {
    const headers = headersOf(allowed, {
      policies: [
        { name: "bytes", quota: 5, windowMs: 1000, unit: "content-bytes" },
        { name: "calls", quota: 5, windowMs: 1000, unit: "requests" },
      ],
    })
    expect(headers["ratelimit-policy"]).toBe('"bytes";q=5;w=1;qu="content-bytes", "calls";q=5;w=1')
  })

  it("writes the partition key as bytes", () => {
    const [[, { pk }]] = listOf(headersOf(allowed, {}, "user:é").ratelimit) as [[string, { pk: ArrayBuffer }]]
    expect(Buffer.from(pk).toString("utf8")).toBe("user:é")
    expect(listOf(headersOf(two, {}, "x").ratelimit)).toEqual([
      ["per-minute", expect.objectContaining({ pk: expect.anything() })],
      ["per-hour", expect.objectContaining({ pk: expect.anything() })],
    ])
  })

  it("names a limit that is not among its policies, and needs no policies", () => {
    const stray = { ...two, limits: [{ ...allowed, name: "stray" }] }
    expect(listOf(headersOf(stray).ratelimit)).toEqual([["stray", { r: 12, t: 30 }]])
    const headers = headersOf(allowed, { policies: [] })
    expect(headers).not.toHaveProperty("ratelimit-policy")
    expect(listOf(headers.ratelimit)).toEqual([["default", { r: 12, t: 30 }]])
  })
})
