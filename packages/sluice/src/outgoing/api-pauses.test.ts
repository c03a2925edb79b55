import { describe, expect, it } from "vitest"
import type { HeaderStyle } from "../header-style.js"
import type { HeaderDecision } from "../middleware/headers/headers.js"
import { headerWriter } from "../middleware/headers/headers.js"
import { ManualClock } from "../testing/manual-clock.js"
import { Pauses, requestedPauseMs } from "./api-pauses.js"

const NOW = Date.UTC(2026, 0, 1)
const NEVER = Number.POSITIVE_INFINITY

function wait(status: number, headers: Record<string, string>): number | undefined {
  return requestedPauseMs(status, new Headers(headers), NOW)
}

describe("retry-after", () => {
  it.each([
    ["seconds", "30", 30_000],
    ["a date", "Thu, 01 Jan 2026 00:00:20 GMT", 20_000],
    ["a date in the past", "Wed, 31 Dec 2025 23:59:00 GMT", 0],
    ["zero", "0", 0],
  ])("is read when it is %s", (_what, value, ms) => {
    expect(wait(429, { "retry-after": value })).toBe(ms)
    expect(wait(503, { "retry-after": value })).toBe(ms)
  })

  it("prefers retry-after-ms, which has milliseconds", () => {
    expect(wait(429, { "retry-after": "1", "retry-after-ms": "250" })).toBe(250)
  })

  it("is a date on the API's clock, not on ours", () => {
    const headers = { date: "Thu, 01 Jan 2026 05:00:00 GMT", "retry-after": "Thu, 01 Jan 2026 05:00:07 GMT" }
    expect(wait(429, headers)).toBe(7_000)
  })

  it("is ignored with any other status", () => {
    expect(wait(202, { "retry-after": "30" })).toBe(0)
    expect(wait(301, { "retry-after": "30" })).toBe(0)
  })

  it("is undefined when it is missing or invalid, after 429 only", () => {
    expect(wait(429, {})).toBeUndefined()
    expect(wait(429, { "retry-after": "soon" })).toBeUndefined()
    expect(wait(429, { "retry-after": "-5" })).toBeUndefined()
    expect(wait(503, {})).toBe(0)
  })
})

describe("rate limit headers", () => {
  it.each<[string, Record<string, string>, number]>([
    ["draft 6", { "ratelimit-remaining": "0", "ratelimit-reset": "12" }, 12_000],
    ["draft 7", { ratelimit: "limit=50, remaining=0, reset=30" }, 30_000],
    ["draft 8", { ratelimit: '"per-minute";r=0;t=30' }, 30_000],
    ["the last of several empty members", { ratelimit: '"a";r=0;t=3, "b";r=0;t=9, "c";r=1;t=60' }, 9_000],
    ["a name full of separators", { ratelimit: '"a;r=0;t=9, remaining=0\\"";r=0;t=4' }, 4_000],
    ["seconds from now", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "5" }, 5_000],
    ["a Unix time", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${NOW / 1000 + 6}` }, 6_000],
    ["a Unix time in ms", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${NOW + 1_500}` }, 1_500],
    ["X-Rate-Limit", { "x-rate-limit-remaining": "0", "x-rate-limit-reset": "7" }, 7_000],
    [
      "a duration",
      { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m1.5s" },
      361_500,
    ],
    ["a short duration", { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms" }, 120],
    [
      "an RFC 3339 date",
      {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:08Z",
      },
      8_000,
    ],
  ])("ask for a pause until the reset when nothing is left: %s", (_what, headers, ms) => {
    expect(wait(200, headers)).toBe(ms)
  })

  it.each<[string, Record<string, string>]>([
    ["draft 6", { "ratelimit-remaining": "1", "ratelimit-reset": "12" }],
    ["draft 7", { ratelimit: "limit=50, remaining=12, reset=30" }],
    ["draft 8", { ratelimit: '"per-minute";r=12;t=30' }],
    ["X-RateLimit", { "x-ratelimit-remaining": "3", "x-ratelimit-reset": "5" }],
    ["no reset", { "x-ratelimit-remaining": "0" }],
    ["a member without a reset", { ratelimit: '"per-minute";r=0' }],
    ["nonsense", { "x-ratelimit-remaining": "none", "x-ratelimit-reset": "later", ratelimit: ";;=,," }],
    ["an empty remaining", { "x-ratelimit-remaining": "", "x-ratelimit-reset": "5" }],
  ])("ask for nothing while something is left or nothing can be read: %s", (_what, headers) => {
    expect(wait(200, headers)).toBe(0)
  })

  it("are ignored in a cached response", () => {
    expect(wait(200, { age: "3", ratelimit: '"per-minute";r=0;t=30' })).toBe(0)
    expect(wait(200, { age: "0", ratelimit: '"per-minute";r=0;t=30' })).toBe(30_000)
  })

  it("and retry-after together ask for the longer wait", () => {
    expect(wait(429, { "retry-after": "2", ratelimit: '"a";r=0;t=10' })).toBe(10_000)
    expect(wait(429, { "retry-after": "20", ratelimit: '"a";r=0;t=10' })).toBe(20_000)
  })

  it.each<HeaderStyle>(["legacy", "draft-6", "draft-7", "draft-8", "both"])(
    "are understood as Sluice itself writes them: %s",
    (style) => {
      const decision: HeaderDecision = {
        allowed: true,
        limit: 10,
        remaining: 0,
        retryAfterMs: 0,
        resetAfterMs: 42_000,
        resetAt: NOW + 42_000,
      }
      const headers: Record<string, string> = {}
      const writer = headerWriter({ style, policies: [{ name: "a, b", quota: 10, windowMs: 60_000 }] })
      writer.write(decision, (name, value) => {
        headers[name] = value
      })
      expect(wait(200, headers)).toBe(42_000)
    },
  )
})

describe("Pauses", () => {
  it("removes keys whose pause is over, and no others", () => {
    const clock = new ManualClock()
    const pauses = new Pauses(clock)
    pauses.pause("long", 1e9)
    for (let i = 0; i < 100_000; i++) {
      pauses.pause(`key ${i}`, 10)
      clock.advance(1)
    }
    expect(pauses.size).toBeLessThan(2_000)
    expect(pauses.leftMs("long")).toBe(1e9 - 100_000)
  })

  it("keeps every paused key, however many", () => {
    const pauses = new Pauses(new ManualClock())
    for (let i = 0; i < 5_000; i++) pauses.pause(`key ${i}`, 10)
    expect(pauses.size).toBe(5_000)
  })

  it("waits for the extended end of a pause", async () => {
    const clock = new ManualClock()
    const pauses = new Pauses(clock)
    pauses.pause("key", 100)
    let isOver = false
    const waiting = pauses.wait("key", NEVER, undefined).then((value) => {
      isOver = true
      return value
    })
    pauses.pause("key", 150)
    clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    clock.advance(50)
    expect(await waiting).toBe(true)
    expect(clock.pending).toBe(0)
  })

  it("does not wait for a pause that ends after the deadline", async () => {
    const clock = new ManualClock()
    const pauses = new Pauses(clock)
    pauses.pause("key", 100)
    expect(await pauses.wait("key", clock.now() + 99, undefined)).toBe(false)
    expect(clock.pending).toBe(0)
    const waiting = pauses.wait("key", clock.now() + 100, undefined)
    clock.advance(100)
    expect(await waiting).toBe(true)
  })

  it("ignores a pause of 0 or NaN", () => {
    const pauses = new Pauses(new ManualClock())
    pauses.pause("key", 0)
    pauses.pause("key", Number.NaN)
    expect(pauses.size).toBe(0)
  })
})
