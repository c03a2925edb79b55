import { afterEach, describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import type { RuleRequest } from "../identity/rule-request.js"
import type { OverrideSpec } from "../language/schema.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"

const engines: RuleEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

const END = "2026-06-01T00:00:00Z"
const BEFORE = Date.parse(END) - 1
const AFTER = Date.parse(END)

/** The limit that applies at a time; without an override it is 1. */
function limitOf(overrides: OverrideSpec[], request: RuleRequest) {
  const engine = createRuleEngine({
    rules: { version: 1, overrides, rules: [{ id: "api", limits: [{ limit: 1, window: "1m" }] }] },
    clock: new ManualClock(),
    secret: "s",
  })
  engines.push(engine)
  return async (at: number) => (await engine.peek(request, { at })).limit
}

function override(client: string, limit: number, more: Partial<OverrideSpec> = {}): OverrideSpec {
  return { client, limits: [{ limit, window: "1m" }], ...more }
}

describe("an override that has ended", () => {
  it.each<[string, string, string]>([
    ["of a user does not hide that of its address", "user:42", "ip:10.1.2.3"],
    ["of a narrow range does not hide that of a wide one", "ip:10.1.2.0/24", "ip:10.0.0.0/8"],
    ["of an address does not hide that of its range", "ip:10.1.2.3", "ip:10.1.0.0/16"],
    ["does not hide another for the same address in another spelling", "ip:10.1.2.3", "ip:10.1.2.3/32"],
  ])("%s", async (_, ended, lasting) => {
    const request = { user: "42", ip: "10.1.2.3" }
    const limit = limitOf([override(ended, 50, { until: END }), override(lasting, 70)], request)
    expect(await limit(BEFORE)).toBe(50)
    expect(await limit(AFTER)).toBe(70)
  })

  it("of one rule does not hide that of every rule", async () => {
    const own = override("user:42", 50, { rule: "api", until: END })
    const limit = limitOf([own, override("ip:10.0.0.0/8", 70)], { user: "42", ip: "10.1.2.3" })
    expect(await limit(BEFORE)).toBe(50)
    expect(await limit(AFTER)).toBe(70)
  })

  it("leaves the limits of the rule when no other is valid", async () => {
    const both = [override("user:42", 50, { until: END }), override("ip:10.0.0.0/8", 70, { until: END })]
    const limit = limitOf(both, { user: "42", ip: "10.1.2.3" })
    expect(await limit(BEFORE)).toBe(50)
    expect(await limit(AFTER)).toBe(1)
  })

  it("is passed over for a key by name as well", async () => {
    const engine = createRuleEngine({
      rules: {
        version: 1,
        overrides: [override("ip:10.1.2.3", 50, { until: END }), override("ip:10.0.0.0/8", 70)],
        rules: [{ id: "api", limits: [{ limit: 1, window: "1m" }] }],
      },
      clock: new ManualClock(),
    })
    engines.push(engine)
    expect((await engine.checkKey("api", "ip:10.1.2.3", { at: AFTER })).limit).toBe(70)
  })
})
