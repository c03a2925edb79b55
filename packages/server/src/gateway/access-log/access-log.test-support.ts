import type { Forwarded } from "../front/request-context.js"
import { idleTarget } from "../upstream/target.test-support.js"

/** When it ended. */
export const END = Date.UTC(2026, 9, 10, 13, 55, 36, 250)

export function forwarded(event: Partial<Forwarded> = {}): Forwarded {
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
