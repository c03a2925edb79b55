import type { RuleDecision } from "sluice/rules"
import { describe, expect, it } from "vitest"
import type { Target } from "../upstream/target.js"
import { combinedLine, jsonLine } from "./access-log.js"
import { END, forwarded } from "./access-log.test-support.js"

const denial = {
  allowed: false,
  reason: "limit",
  rule: "per-user",
  degraded: "local",
} as unknown as RuleDecision

/** What a client could try to break out of a line with. */
const HOSTILE = 'a"b\\c\nd\re\x1b[31mf\u2028g\u00e9'

describe("a JSON line", () => {
  it("shows when the request arrived, who sent what, and the answer", () => {
    expect(JSON.parse(jsonLine(forwarded(), END))).toEqual({
      time: "2026-10-10T13:55:36.000Z",
      client: "203.0.113.7",
      method: "GET",
      host: "example.com",
      path: "/items",
      http: "1.1",
      status: 200,
      bytesIn: 0,
      bytesOut: 2326,
      durationMs: 250,
      upstreamMs: 1.235,
      route: "api",
      target: "http://a:3000",
      userAgent: "curl/8",
    })
  })

  it("shows which rule denied, how long a limit held the request, and the error", () => {
    const line = jsonLine(
      forwarded({ decision: denial, queuedMs: 12.5, error: "UPSTREAM_TIMEOUT", target: undefined }),
      END,
    )
    expect(JSON.parse(line)).toMatchObject({
      denied: "limit",
      rule: "per-user",
      degraded: "local",
      queuedMs: 12.5,
      error: "UPSTREAM_TIMEOUT",
    })
    expect(JSON.parse(line)).not.toHaveProperty("target")
  })

  it("is one line whatever the client sends", () => {
    const line = jsonLine(
      forwarded({ method: HOSTILE, host: HOSTILE, path: HOSTILE, referer: HOSTILE, userAgent: HOSTILE }),
      END,
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them.
    expect(line.slice(0, -1)).not.toMatch(/[\x00-\x1f]/)
    expect(JSON.parse(line)).toMatchObject({ path: HOSTILE, referer: HOSTILE, userAgent: HOSTILE })
  })

  it("cuts long texts", () => {
    expect(jsonLine(forwarded({ userAgent: "x".repeat(100_000) }), END).length).toBeLessThan(2_000)
  })

  it("cuts every text that a client controls", () => {
    const worst = "\x1b".repeat(100_000)
    const name = worst.slice(0, 1_000)
    const event = {
      ...{ method: worst, host: worst, path: worst, clientIp: worst, referer: worst, userAgent: worst },
      ...{ error: name, target: { origin: name } as Target, decision: { ...denial, rule: name } },
    }
    expect(JSON.parse(jsonLine(forwarded(event), END))).toMatchObject({ rule: name, userAgent: `${name}…` })
  })

  it.each([0, 1, 9.9994, 9.9996, 10, 99.05, 100.1, 2 ** 31 / 1_000, 2 ** 31 - 1, 2 ** 31, 2 ** 40 + 0.5])(
    "shows %d ms to the microsecond",
    (ms) => {
      const { durationMs, upstreamMs } = JSON.parse(
        jsonLine(forwarded({ durationMs: ms, upstreamMs: ms }), END),
      )
      expect([durationMs, upstreamMs]).toEqual(Array(2).fill(Math.round(ms * 1_000) / 1_000))
    },
  )

  it.each([0, 9, 10, 99, 100, 65_536, 999_999_999, 1e9, 2 ** 31 - 1, 2 ** 31, 2 ** 53 - 1])(
    "shows %d bytes exactly",
    (bytes) => {
      expect(JSON.parse(jsonLine(forwarded({ bytesIn: bytes, bytesOut: bytes }), END))).toMatchObject({
        bytesIn: bytes,
        bytesOut: bytes,
      })
    },
  )
})

describe("a combined line", () => {
  it("has the format of other servers", () => {
    expect(combinedLine(forwarded({ referer: "https://example.com/" }), END)).toBe(
      '203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] "GET /items HTTP/1.1" 200 2326 "https://example.com/" "curl/8"\n',
    )
    expect(
      combinedLine(forwarded({ clientIp: undefined, userAgent: undefined, httpVersion: "2.0" }), END),
    ).toBe('- - - [10/Oct/2026:13:55:36 +0000] "GET /items HTTP/2.0" 200 2326 "-" "-"\n')
  })

  it("cuts every text that a client controls", () => {
    const worst = "\u2028".repeat(100_000)
    const event = { clientIp: worst, method: worst, path: worst, referer: worst, userAgent: worst }
    expect(combinedLine(forwarded(event), END)).toMatch(/(?:\\xe2\\x80\\xa8){1000}\\xe2\\x80\\xa6"\n$/)
  })

  it("escapes what could end its quotes or its line", () => {
    const line = combinedLine(forwarded({ userAgent: HOSTILE, path: '/"x' }), END)
    expect(line).toContain('"GET /\\x22x HTTP/1.1"')
    expect(line).toContain('"a\\x22b\\x5cc\\x0ad\\x0de\\x1b[31mf\\xe2\\x80\\xa8g\\xc3\\xa9"\n')
  })
})
