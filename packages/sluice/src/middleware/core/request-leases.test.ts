import { expect, it } from "vitest"
import { createLimiter } from "../../limiter/limiter.js"
import { createRuleEngine } from "../../rules/index.js"
import { TestServer } from "../../stores/leases/server.test-support.js"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RateLimitOptions } from "./rate-limit-options.js"
import { RequestLimiter } from "./request-limiter.js"
import type { RequestReader } from "./request-reader.js"

interface Asked {
  readonly ip: string
}

const reader: RequestReader<Asked> = {
  method: () => "GET",
  target: () => "/",
  headers: () => ({}),
  rawHeaders: () => undefined,
  peer: ({ ip }) => ip,
}
const limit = { algorithm: "fixed-window", limit: 1_000, window: "1d" } as const
// So long that no lease ends on a busy machine.
const leases = { length: "10m" }

it.each<[string, (store: TestServer) => RateLimitOptions<Asked>]>([
  ["limiter", (store) => ({ limiter: createLimiter({ name: "test", store, leases, ...limit }) })],
  [
    "rule engine",
    (store) => ({
      engine: createRuleEngine({
        rules: { version: 1, rules: [{ id: "all", leases, limits: [limit] }] },
        store,
      }),
    }),
  ],
])(
  "a middleware with a %s decides without a promise and without a call while a lease is held",
  async (_, open) => {
    const server = new TestServer(new ManualClock())
    const middleware = new RequestLimiter(open(server), reader)
    const admit = () => middleware.admit({ ip: "203.0.113.7" })
    expect(admit()).toBeInstanceOf(Promise)
    for (let i = 0; i < 5; i++) await admit()
    const { length } = server.calls
    const admission = admit()
    expect(admission).not.toBeInstanceOf(Promise)
    expect(admission).toMatchObject({ decision: { allowed: true, source: "lease" } })
    expect(server.calls).toHaveLength(length)
  },
)
