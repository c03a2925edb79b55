import type { RuleDecision } from "sluice/rules"
import { describe, expect, it } from "vitest"
import { combinedLine, jsonLine } from "./access-line.js"
import { idleTarget } from "./fit-target.test-support.js"
import type { Forwarded } from "./gateway-watch.js"

const END = Date.UTC(2026, 9, 10, 13, 55, 36, 250)

function forwarded(event: Partial<Forwarded> = {}): Forwarded {
  return {
    route: {
      name: "api",
      upstream: { name: "u", pick: () => undefined },
      deadlines: { connect: 0, headers: 0, bodyIdle: 0, total: 0 },
      keepHost: true,
    },
    target: idleTarget("a"),
    method: "GET",
    host: "example.com",
    path: "/items",
    httpVersion: "1.1",
    clientIp: "203.0.113.7",
    referer: undefined,
    userAgent: "curl/8",
    status: 200,
    bytesIn: 0,
    bytesOut: 2326,
    durationMs: 250,
    upstreamMs: 1.23456,
    queuedMs: 0,
    decision: undefined,
    error: undefined,
    ...event,
  }
}

const denial = {
  allowed: false,
  reason: "limit",
  rule: "per-user",
  degraded: "local",
} as unknown as RuleDecision

/** What a client could try to break out of a line with. */
const HOSTILE = 'a"b\\c\nd\re\x1b[31mf\u2028g\u00e9'

describe("a JSON line", () => {
  it("says when the request came, who asked what, and what became of it", () => {
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

  it("says which rule denied, how long a limit held it, and what went wrong", () => {
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

  it("is not as long as the client likes", () => {
    expect(jsonLine(forwarded({ userAgent: "x".repeat(100_000) }), END).length).toBeLessThan(2_000)
  })
})

describe("a combined line", () => {
  it("is as other servers write it", () => {
    expect(combinedLine(forwarded({ referer: "https://example.com/" }), END)).toBe(
      '203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] "GET /items HTTP/1.1" 200 2326 "https://example.com/" "curl/8"\n',
    )
    expect(
      combinedLine(forwarded({ clientIp: undefined, userAgent: undefined, httpVersion: "2.0" }), END),
    ).toBe('- - - [10/Oct/2026:13:55:36 +0000] "GET /items HTTP/2.0" 200 2326 "-" "-"\n')
  })

  it("lets nothing that a client sends end its quotes or its line", () => {
    const line = combinedLine(forwarded({ userAgent: HOSTILE, path: '/"x' }), END)
    expect(line).toContain('"GET /\\x22x HTTP/1.1"')
    expect(line).toContain('"a\\x22b\\x5cc\\x0ad\\x0de\\x1b[31mf\\xe2\\x80\\xa8g\\xc3\\xa9"\n')
  })
})
