import { afterEach, describe, expect, it } from "vitest"
import { TestServer } from "../../stores/leases/server.test-support.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { parseRuleSet } from "../language/parse.js"
import { RuleSetError } from "../language/rule-set-error.js"
import { createRuleEngine, type RuleEngine } from "./engine.js"

let engine: RuleEngine | undefined
afterEach(() => engine?.close())

const HOT = "{ id: hot, keyBy: user, limits: [{ algorithm: fixed-window, limit: 1000, window: 1d }] }"
const QUEUE = "{ id: queue, limits: [{ algorithm: leaky-bucket, overflow: queue, limit: 100, window: 1m }] }"
const SMALL = "[{ algorithm: token-bucket, limit: 60000, window: 1m, burst: 101 }]"

// So long that a busy machine does not make the key cold.
const LEASED = `version: 1\ndefaults: { leases: { length: 10m } }\nrules: [${HOT}]`

/** The problems of a rule set, as `path: message`. */
function problemsOf(rules: string): string[] {
  try {
    parseRuleSet(`version: 1\n${rules}`)
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    return error.problems.map(({ code, path, message }) => `${code} ${path}: ${message}`)
  }
  return []
}

describe("leases of rules", () => {
  it("answer checks of a busy key without a call to the store", async () => {
    const server = new TestServer(new ManualClock())
    engine = createRuleEngine({
      rules: LEASED,
      store: server,
    })
    for (let i = 0; i < 50; i++) expect((await engine.check({ user: "ann" })).allowed).toBe(true)
    expect(server.calls.length).toBeLessThan(25)
    expect(engine.checkEither({ user: "ann" })).toMatchObject({ allowed: true, source: "lease" })
    expect(engine.checkKeyEither("hot", "user:ann")).toMatchObject({ allowed: true, source: "lease" })
    expect(engine.leases?.answered).toBeGreaterThan(20)
  })

  it("are not taken for a rule that sets leases to false, whatever the defaults say", async () => {
    const server = new TestServer(new ManualClock())
    const rules = `version: 1\ndefaults: { leases: true }\nrules: [${HOT.replace("id: hot", "id: hot, leases: false")}]`
    engine = createRuleEngine({ rules, store: server })
    for (let i = 0; i < 10; i++) expect((await engine.check({ user: "ann" })).source).toBeUndefined()
    expect(server.calls).toHaveLength(10)
  })

  it("are refused at a limit that cannot be leased", () => {
    expect(problemsOf(`defaults: { leases: true }\nrules: [${HOT}, ${QUEUE}]`)).toEqual([
      expect.stringMatching(/^LEASE_INVALID rules\[1\]\.limits\[0\]\S*: .*"queue"/),
    ])
    expect(problemsOf(`rules: [${HOT}, ${QUEUE}]`)).toEqual([])
    expect(problemsOf(`rules: [{ id: a, leases: true, limits: ${SMALL} }]`)).toEqual([
      expect.stringContaining("must leave at least 90 % of the limit"),
    ])
  })

  it.each([
    ["a tier", `rules: [{ id: a, leases: true, limits: unlimited, tiers: { free: { limits: ${SMALL} } } }]`],
    ["a candidate", `rules: [{ id: a, leases: true, limits: unlimited, candidate: { limits: ${SMALL} } }]`],
    [
      "an override of that rule",
      `rules: [{ id: a, leases: true, limits: unlimited }]\noverrides: [{ client: "user:1", rule: a, limits: ${SMALL} }]`,
    ],
    [
      "an override of every rule",
      `rules: [{ id: a, leases: { length: 50ms }, limits: unlimited }]\noverrides: [{ client: "user:1", limits: ${SMALL} }]`,
    ],
  ])("are refused where a limit of %s cannot be leased", (_, rules) => {
    expect(problemsOf(rules)).toEqual([expect.stringMatching(/^LEASE_INVALID /)])
    expect(problemsOf(rules.replace(/leases: (true|\{ length: 50ms \})/, "leases: false"))).toEqual([])
  })

  it("must be true, false or an object with a length", () => {
    expect(problemsOf("rules: [{ id: a, leases: 1s, limits: unlimited }]")[0]).toMatch(
      /^RULE_\w+ rules\[0\]\.leases/,
    )
    expect(problemsOf("rules: [{ id: a, leases: { size: 1 }, limits: unlimited }]")[0]).toMatch(
      /^RULE_\w+ rules\[0\]\.leases/,
    )
  })

  it("are explained with what they cost", async () => {
    engine = createRuleEngine({
      rules: {
        version: 1,
        rules: [
          {
            id: "a",
            leases: true,
            limits: [
              { name: "bucket", algorithm: "token-bucket", limit: 60_000, window: "1m", burst: 2_000 },
              { name: "log", algorithm: "sliding-window-log", limit: 100, window: "1m" },
              { name: "daily", algorithm: "fixed-window", limit: 1_000, window: "1d" },
            ],
          },
          { id: "b", limits: [{ limit: 1, window: "1m" }] },
        ],
      },
    })
    const { rules } = await engine.explain({ ip: "203.0.113.7" })
    expect(rules[0]?.leases).toEqual([
      'limit "bucket" has leases of at most 100ms: the burst is 1900 instead of 2000',
      'limit "log" has leases of at most 100ms: a unit counts for 1m and 100ms',
      'limit "daily" has leases of at most 100ms: a lease ends with the window or bucket that it was charged to',
    ])
    expect(rules[1]).not.toHaveProperty("leases")
  })
})
