import { memoryStore } from "sluice"
import { createRuleEngine, parseRuleSet, type RuleDecision, type RuleRequest } from "sluice/rules"
import { ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import { decisionJson } from "./decision-json.js"

const RULES = `
version: 1
tiers: { gold: ["user:ann"], "sil\\"ver": ["user:bob"] }
deny: ["user:mallory"]
rules:
  - id: items
    match: { path: /items/** }
    keyBy: user
    limits: [{ name: "per \\"day\\"", algorithm: token-bucket, limit: 7, window: 10s }]
    tiers:
      gold: { limits: [{ algorithm: token-bucket, limit: 1000, window: 1s }] }
      sil"ver: { limits: [{ algorithm: gcra, limit: 2, window: 1m }] }
  - id: queue
    match: { path: /queue }
    keyBy: user
    limits: [{ algorithm: leaky-bucket, limit: 3, window: 1s, burst: 3, overflow: queue }]
  - id: two
    match: { path: /two }
    keyBy: user
    limits: [{ limit: 2, window: 1s }, { limit: 5, window: 1h }]
  - id: shadow
    match: { path: /queue }
    keyBy: user
    mode: shadow
    limits: [{ limit: 1, window: 1h }]
`

/** The same by the language, field by field. */
function plainJson(decision: RuleDecision): string {
  const { rules, limits } = decision
  const only = rules.length === 1 && limits === undefined ? rules[0] : undefined
  const isShort = only?.mode === "enforce" && only.descriptor === undefined
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, used, windowMs, resetAt } = decision
  const { delayMs, reason, rule, limitName, deniedBy, degraded, tier, shadowDenied, revision } = decision
  return JSON.stringify(
    {
      ...{ allowed, limit, remaining, retryAfterMs, resetAfterMs, used, windowMs, resetAt },
      ...{ delayMs, reason, rule, limitName },
      key: isShort ? only.key : undefined,
      rules: isShort || rules.length === 0 ? undefined : rules.map(plainOutcome),
      ...{ deniedBy, degraded, tier },
      shadowDenied: shadowDenied.length > 0 ? shadowDenied : undefined,
      revision,
    },
    (name, value: unknown) => {
      if (typeof value !== "number") return value
      if (value === Number.POSITIVE_INFINITY) return name === "limit" || name === "remaining" ? null : "never"
      return Math.ceil(value)
    },
  )
}

function plainOutcome(outcome: RuleDecision["rules"][number]) {
  const { rule, mode, candidate, descriptor, allowed, key, tier, limits } = outcome
  const shown = limits.map(
    ({ name, limit, remaining, retryAfterMs, resetAfterMs, used, windowMs, resetAt, ...own }) => {
      const waits = { retryAfterMs, resetAfterMs, used, windowMs, resetAt }
      return { name, allowed: own.allowed, limit, remaining, ...waits }
    },
  )
  return { rule, mode, candidate, descriptor, allowed, key, tier, limits: shown }
}

describe("a decision as JSON", () => {
  it("equals JSON.stringify of the same decision with whole milliseconds, whatever decision came before", async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const engine = createRuleEngine({ rules: parseRuleSet(RULES), clock, store })
    await engine.blockKey("items", "user:blocked", "1m")
    const users = [
      "ann",
      "bob",
      "carl",
      'q"uo\\te',
      "é\n",
      "\ud800",
      "鍵",
      "blocked",
      "mallory",
      "x".repeat(70),
    ]
    const paths = ["/items/1", "/queue", "/two", "/free", "/%zz"]
    const seen = new Set<string>()
    for (let i = 0; i < 1_500; i++) {
      const request: RuleRequest = {
        path: paths[i % paths.length] as string,
        user: users[Math.floor(i / paths.length) % users.length] as string,
      }
      const decision = engine.checkSync(request, { cost: i % 4 })
      seen.add(`${decision.reason} ${decision.degraded ?? ""}`)
      expect(decisionJson(decision)).toBe(plainJson(decision))
      clock.advance((i * 37.123) % 90)
    }
    expect([...seen]).toEqual(
      expect.arrayContaining(["block ", "deny-list ", "limit ", "no-rule ", "within-limits "]),
    )
  })
})
