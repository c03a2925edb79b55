import { describe, expect, it } from "vitest"
import { checkRuleSet, parseRule, parseRuleSet } from "./parse.js"
import { RuleSetError } from "./rule-set-error.js"
import { ruleSetJsonSchema } from "./schema.js"

function mistakesIn(text: string, guardRails = {}): RuleSetError {
  try {
    parseRuleSet(text, { guardRails, name: "rules.yaml" })
  } catch (error) {
    if (error instanceof RuleSetError) return error
    throw error
  }
  throw new Error("no mistake was found")
}

/** One line of YAML behind `rules:`, and what is said about it. */
const mistakes: [name: string, rule: string, said: string][] = [
  [
    "an unknown field",
    "{ id: a, limit: 5, limits: [{ limit: 1, window: 1s }] }",
    'rule "a": limit does not exist; did you mean limits? [RULE_UNKNOWN_FIELD]',
  ],
  [
    "a limit of 0",
    "{ id: a, limits: [{ limit: 0, window: 1s }] }",
    'rule "a": limits[0].limit must be an integer ≥ 1, got 0 [RULE_FIELD_INVALID]',
  ],
  [
    "a limit as text",
    "{ id: a, limits: [{ limit: '5', window: 1s }] }",
    'rule "a": limits[0].limit must be a number, got "5" [RULE_FIELD_INVALID]',
  ],
  [
    "half a unit",
    "{ id: a, limits: [{ limit: 0.5, window: 1s }] }",
    'rule "a": limits[0].limit must be an integer, got 0.5 [RULE_FIELD_INVALID]',
  ],
  [
    "no limits",
    "{ id: a }",
    'rule "a": limits is required and must be "unlimited" or a list [RULE_FIELD_INVALID]',
  ],
  [
    "an empty list of limits",
    "{ id: a, limits: [] }",
    'rule "a": limits must be a list of at least 1, got an array [RULE_FIELD_INVALID]',
  ],
  [
    "an estimate of what no answer will say",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { estimate: 5 } }",
    'rule "a": cost.estimate requires responseHeader or responseJson; the fixed cost of a request is default [RULE_FIELD_INVALID]',
  ],
  [
    "an estimate beside a default",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { responseHeader: x-cost, estimate: 5, default: 2 } }",
    'rule "a": cost.default means the same as estimate; use one of them [RULE_FIELD_INVALID]',
  ],
  [
    "an estimate that would let everybody in",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { responseHeader: x-cost, estimate: 0 } }",
    'rule "a": cost.estimate must be an integer ≥ 1, got 0 [RULE_FIELD_INVALID]',
  ],
  [
    "an estimate from the body that reads nothing",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { estimate: { default: 5 } } }",
    'rule "a": cost.estimate must have json, bytesPerUnit or both [RULE_FIELD_INVALID]',
  ],
  [
    "a default beside an estimate from the body",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { default: 5, estimate: { json: max_tokens } } }",
    'rule "a": cost.default must be estimate.default beside an estimate from the body [RULE_FIELD_INVALID]',
  ],
  [
    "a field path that is none",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { responseJson: usage..total } }",
    'rule "a": cost.responseJson must be names of fields joined by dots, such as usage.total_tokens [RULE_FIELD_INVALID]',
  ],
  [
    "a field path with a list in it",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { responseJson: { 'choices[0].tokens': 1 } } }",
    'rule "a": cost.responseJson["choices[0].tokens"] must be names of fields joined by dots, such as usage.total_tokens [RULE_FIELD_INVALID]',
  ],
  [
    "a negative weight",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { responseJson: { usage.input_tokens: -1 } } }",
    'rule "a": cost.responseJson["usage.input_tokens"] must be a number from 0 to 1,000,000, got -1 [RULE_FIELD_INVALID]',
  ],
  [
    "no weights",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { responseJson: {} } }",
    'rule "a": cost.responseJson must have 1 to 16 fields [RULE_FIELD_INVALID]',
  ],
  [
    "a field twice",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { estimate: { json: { max_tokens: 1, Max_Tokens: 2 } } } }",
    'rule "a": cost.estimate.json must not have a field twice; upper and lower case are the same [RULE_FIELD_INVALID]',
  ],
  [
    "a length by zero bytes",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { estimate: { bytesPerUnit: 0 } } }",
    'rule "a": cost.estimate.bytesPerUnit must be a number ≥ 0.001, got 0 [RULE_FIELD_INVALID]',
  ],
  [
    "no models",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { models: {} } }",
    'rule "a": cost.models must have 1 to 256 names [RULE_FIELD_INVALID]',
  ],
  [
    "a response header that is none",
    "{ id: a, limits: [{ limit: 9, window: 1s }], cost: { responseHeader: x cost } }",
    'rule "a": cost.responseHeader must be the name of a header [RULE_FIELD_INVALID]',
  ],
  [
    "a status that no answer has",
    "{ id: a, limits: [{ limit: 9, window: 1s }], refundOn: [5xx, 600] }",
    'rule "a": refundOn[1] must be an integer ≤ 599, got 600 [RULE_FIELD_INVALID]',
  ],
  ["no id", "{ limits: unlimited }", "rules[0].id is required and must be a string [RULE_FIELD_INVALID]"],
  [
    "an id with a slash",
    "{ id: a/b, limits: unlimited }",
    'rule "a/b": id must be 1 to 64 letters, digits, dots, dashes and underscores [RULE_FIELD_INVALID]',
  ],
  [
    "a window nobody can read",
    "{ id: a, limits: [{ limit: 1, window: 1 fortnight }] }",
    'rule "a": limits[0].window must be milliseconds or text like "100ms", "10s", "1m", "2h", "1d", got "1 fortnight" [WINDOW_INVALID]',
  ],
  [
    "an algorithm that is none",
    "{ id: a, limits: [{ limit: 1, window: 1s, algorithm: magic }] }",
    'rule "a": limits[0].algorithm must be one of fixed-window, sliding-window-log, sliding-window-counter, token-bucket, leaky-bucket, gcra, concurrency, got "magic" [RULE_FIELD_INVALID]',
  ],
  [
    "an option of another algorithm",
    "{ id: a, limits: [{ limit: 1, window: 1s, burst: 2 }] }",
    'rule "a": limits[0].burst is an option of token-bucket and leaky-bucket only, got "sliding-window-counter" [OPTION_CONFLICT]',
  ],
  [
    "numbers too large to be exact",
    "{ id: a, limits: [{ limit: 999999937, window: 366d, algorithm: token-bucket }] }",
    "[POLICY_TOO_LARGE]",
  ],
  [
    "two limits that share a counter",
    "{ id: a, limits: [{ limit: 1, window: 1s }, { limit: 2, window: 1s }] }",
    "[LIMIT_NAME_DUPLICATE]",
  ],
  [
    "a path that starts nowhere",
    "{ id: a, match: { path: v1 }, limits: unlimited }",
    'rule "a": match.path must start with "/", got "v1" [PATTERN_INVALID]',
  ],
  [
    "a bad path in a list",
    "{ id: a, match: { path: [/ok, /a/../b] }, limits: unlimited }",
    'rule "a": match.path[1] must not have "." or ".." as a segment, got "/a/../b" [PATTERN_INVALID]',
  ],
  [
    "a host with a port",
    "{ id: a, match: { host: 'a.example:80' }, limits: unlimited }",
    "[PATTERN_INVALID]",
  ],
  [
    "a method that is none",
    "{ id: a, match: { method: 'GE T' }, limits: unlimited }",
    'rule "a": match.method must be an HTTP method, got "GE T" [RULE_FIELD_INVALID]',
  ],
  [
    "a header name that is none",
    "{ id: a, match: { header: { 'x y': z } }, limits: unlimited }",
    "must be the name of a header [RULE_FIELD_INVALID]",
  ],
  [
    "a credential to match",
    "{ id: a, match: { header: { Authorization: ['Basic *', Bearer sk-1] } }, limits: unlimited }",
    'rule "a": match.header.Authorization[1] must be true or a glob with *, never a credential; lists and tiers name API keys by their hash [RULE_FIELD_INVALID]',
  ],
  [
    "a content type that would end its header",
    '{ id: a, limits: unlimited, response: { contentType: "text/plain\\r\\nx: y" } }',
    'rule "a": response.contentType must be a media type [RULE_FIELD_INVALID]',
  ],
  [
    "a key part that does not exist",
    "{ id: a, keyBy: session, limits: unlimited }",
    'rule "a": keyBy must be one of ip, user, apiKey, method, route, host, global, descriptor, or header:…, query:…, cookie:…, param:… with a name, got "session" [RULE_FIELD_INVALID]',
  ],
  [
    "a parameter that no path has",
    "{ id: a, match: { path: '/a/:id' }, keyBy: 'param:user', limits: unlimited }",
    'rule "a": keyBy requires :user in every path of the rule, got "/a/:id" [RULE_REFERENCE_UNKNOWN]',
  ],
  [
    "a client that is none",
    "{ id: a, allow: [bob], limits: unlimited }",
    'rule "a": allow[0] must be "ip:…" with an address or CIDR, "user:…" or "apiKey:…", got "bob" [CLIENT_INVALID]',
  ],
  ["an address that is none", "{ id: a, deny: ['ip:10.0.0.256'], limits: unlimited }", "[CIDR_INVALID]"],
  [
    "a rule that replaces itself",
    "{ id: a, replaces: [a], limits: unlimited }",
    'rule "a": replaces[0] must not be the rule itself, got "a" [RULE_REFERENCE_UNKNOWN]',
  ],
  [
    "a rule that replaces nobody",
    "{ id: a, replaces: [b], limits: unlimited }",
    'rule "a": replaces[0] must be the id of a rule in this set, got "b" [RULE_REFERENCE_UNKNOWN]',
  ],
  [
    "a tier that is neither",
    "{ id: a, limits: unlimited, tiers: { pro: 5 } }",
    'rule "a": tiers.pro must be "unlimited" or a map, got 5 [RULE_FIELD_INVALID]',
  ],
  [
    "a mistake inside of a tier",
    "{ id: a, limits: unlimited, tiers: { pro: { limits: [{ limit: -1, window: 1s }] } } }",
    'rule "a": tiers.pro.limits[0].limit must be an integer ≥ 1, got -1 [RULE_FIELD_INVALID]',
  ],
  ["a cost below 0", "{ id: a, limits: unlimited, cost: -1 }", 'rule "a": cost must be an integer ≥ 0'],
  [
    "a misspelt cost",
    "{ id: a, limits: unlimited, cost: { defalt: 1 } }",
    'rule "a": cost.defalt does not exist; did you mean default? [RULE_UNKNOWN_FIELD]',
  ],
  [
    "a mode that is none",
    "{ id: a, limits: unlimited, mode: on }",
    'rule "a": mode must be one of enforce, shadow, off, got "on" [RULE_FIELD_INVALID]',
  ],
  [
    "a status that is no error",
    "{ id: a, limits: unlimited, response: { status: 200 } }",
    'rule "a": response.status must be an integer ≥ 400, got 200 [RULE_FIELD_INVALID]',
  ],
  [
    "a name that JavaScript has taken",
    "{ id: a, limits: unlimited, match: { header: { __proto__: x } } }",
    "is not allowed as a name [RULE_UNKNOWN_FIELD]",
  ],
]

describe("a rule set with one mistake", () => {
  it.each(mistakes)("reports the mistake in %s", (_name, rule, said) => {
    const { code, message, problems } = mistakesIn(`version: 1\nrules:\n  - ${rule}\n`)
    expect(code).toBe("RULES_INVALID")
    expect(message).toContain(said)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatchObject({ line: 3, column: expect.any(Number) })
  })

  it("never shows an API key that somebody wrote in clear", () => {
    const { message } = mistakesIn("version: 1\ndeny: ['apiKey:sk-very-secret']\nrules: []\n")
    expect(message).toContain("deny[0] must hold the keyed hash of the API key")
    expect(message).not.toContain("secret")
  })

  it("reports the place by line and column", () => {
    const text =
      "version: 1\nrules:\n  - id: a\n    match:\n      pathh: /a\n    limits:\n      - limit: 5\n        window: 1x\n"
    expect(mistakesIn(text).problems.map(({ path, line, column }) => [path, line, column])).toEqual([
      ["rules[0].match.pathh", 5, 7],
      ["rules[0].limits[0].window", 8, 17],
    ])
  })

  it("points at the map that lacks a field", () => {
    expect(mistakesIn("version: 1\nrules:\n  - id: a\n").problems).toMatchObject([{ line: 3, column: 5 }])
  })
})

describe("the end of an override", () => {
  const set = (until: string) =>
    `version: 1\noverrides: [{ client: "user:1", limits: unlimited, until: ${until} }]\nrules: []\n`

  it.each(["tomorrow", "2026-02-31", "2026-13-01", "2026-12-31T18:00:00", "2026-02-30T10:00:00Z"])(
    "cannot be %s",
    (until) => {
      expect(mistakesIn(set(until)).message).toContain(
        `overrides[0].until must be a date like 2026-12-31 or 2026-12-31T18:00:00Z, got "${until}"`,
      )
    },
  )

  it.each(["2024-02-29", "2026-12-31", "2026-12-31T23:30:00-05:00"])("may be %s", (until) => {
    expect(parseRuleSet(set(until)).overrides?.[0]?.until).toBe(until)
  })
})

describe("a rule set with many mistakes", () => {
  it("has all of them reported at once, in the order of the text", () => {
    const text = [
      "version: 2",
      "rulez: []",
      "identity: { trustedProxies: [10.0.0.1/8] }",
      "defaults: { algorithm: none }",
      "tiers: { pro: [nobody] }",
      "overrides: [{ client: 'user:1', rule: ghost, limits: unlimited, until: tomorrow }]",
      "rules:",
      "  - { id: a, limits: [{ limit: 0, window: 1s }, { limit: 1, window: 0x }] }",
      "  - { id: a, limits: unlimited, keyBy: [ip, moon] }",
    ].join("\n")
    const { problems } = mistakesIn(text)
    expect(problems.map(({ line, code }) => [line, code])).toEqual([
      [1, "RULE_FIELD_INVALID"],
      [2, "RULE_UNKNOWN_FIELD"],
      [3, "CIDR_INVALID"],
      [4, "RULE_FIELD_INVALID"],
      [5, "CLIENT_INVALID"],
      [6, "RULE_REFERENCE_UNKNOWN"],
      [6, "RULE_FIELD_INVALID"],
      [8, "RULE_FIELD_INVALID"],
      [8, "WINDOW_INVALID"],
      [9, "RULE_DUPLICATE"],
      [9, "RULE_FIELD_INVALID"],
    ])
  })
})

describe("text that is no rule set", () => {
  it.each([
    ["broken YAML", "version: 1\nrules: [\n"],
    ["a field given twice", "version: 1\nversion: 1\nrules: []\n"],
    ["brackets without end", "[".repeat(100_000)],
    ["dashes without end", "- ".repeat(200_000)],
    ["question marks without end", "? ".repeat(200_000)],
    ["an indentation without end", Array.from({ length: 600 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")],
    [
      "aliases that multiply",
      `a: &a [1]\n${[..."bcdefghij"].map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[i]}`)}]`).join("\n")}`,
    ],
    ["an alias of nothing", "version: 1\nrules: *nothing\n"],
    ["an alias inside of itself", "version: 1\nrules: &rules [{ id: a, limits: *rules }]\n"],
  ])("refuses %s", (_name, text) => {
    const started = performance.now()
    expect(mistakesIn(text).problems[0]?.code).toBe("RULES_SYNTAX")
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  it.each([
    ["nothing", ""],
    ["a list", "[]"],
    ["a number", "42"],
  ])("refuses %s", (_name, text) => {
    expect(mistakesIn(text).message).toContain("rule set must be a map with version and rules")
  })

  it("refuses a second document", () => {
    expect(mistakesIn("version: 1\nrules: []\n---\nversion: 1\n").message).toContain(
      "3:1 rule set must be one document [RULES_SYNTAX]",
    )
  })

  it("refuses more text than maxBytes", () => {
    expect(mistakesIn("version: 1\nrules: []\n", { maxBytes: 10 }).message).toContain(
      "at most 10 bytes (maxBytes)",
    )
  })
})

describe("guard rails", () => {
  const rule =
    "version: 1\nrules:\n  - { id: a, limits: [{ limit: 50, window: 1m }, { limit: 500, window: 1h }] }\n"

  it.each([
    [{ maxLimit: 100 }, "limits[1].limit must be at most 100 (maxLimit), got 500"],
    [{ minLimit: 100 }, "limits[0].limit must be at least 100 (minLimit), got 50"],
    [{ maxWindow: "30m" }, 'limits[1].window must be at most 1800000 ms (maxWindow), got "1h"'],
    [{ minWindow: "2m" }, 'limits[0].window must be at least 120000 ms (minWindow), got "1m"'],
    [{ maxLimits: 1 }, "limits must have at most 1 (maxLimits), got 2"],
  ])("%o refuse what is outside and name the bound", (rails, said) => {
    const { message, problems } = mistakesIn(rule, rails)
    expect(message).toContain(said)
    expect(problems.map(({ code }) => code)).toEqual(["RULE_OUT_OF_BOUNDS"])
  })

  it("bound the number of rules and clients", () => {
    const rules = "rules: [{ id: a, limits: unlimited }, { id: b, limits: unlimited }]"
    expect(mistakesIn(`version: 1\n${rules}`, { maxRules: 1 }).message).toContain(
      "rules must have at most 1 (maxRules), got 2",
    )
    const text = `version: 1\nallow: ['user:1']\ntiers: { pro: ['user:2', 'user:3'] }\n${rules}`
    expect(mistakesIn(text, { maxClients: 2 }).message).toContain(
      "must name at most 2 clients (maxClients), got 3",
    )
    expect(parseRuleSet(text, { guardRails: { maxClients: 3 } }).rules).toHaveLength(2)
  })

  it("are options, checked like all others", () => {
    expect(() => parseRuleSet(rule, { guardRails: { maxRule: 5 } as object })).toThrow(
      /did you mean maxRules\?.*OPTION_UNKNOWN/,
    )
    expect(() => parseRuleSet(rule, { guardRails: { maxRules: 0 } })).toThrow(/OPTION_TYPE/)
    expect(() => parseRuleSet(rule, { guardRails: { minLimit: 5, maxLimit: 4 } })).toThrow(/OPTION_CONFLICT/)
  })
})

describe("a good rule set", () => {
  it("is read from YAML and from JSON alike", () => {
    const set = {
      version: 1,
      rules: [{ id: "a", match: { path: "/a" }, limits: [{ limit: 5, window: "1m" }] }],
    }
    expect(parseRuleSet(JSON.stringify(set))).toEqual(set)
    expect(
      parseRuleSet("version: 1\nrules: [{ id: a, match: { path: /a }, limits: [{ limit: 5, window: 1m }] }]"),
    ).toEqual(set)
    expect(checkRuleSet(set)).toEqual(set)
  })

  it("may have one limit more than once by an alias", () => {
    const text =
      "version: 1\nrules:\n  - { id: a, limits: &l [{ limit: 5, window: 1m }] }\n  - { id: b, limits: *l }\n"
    expect(parseRuleSet(text).rules[1]?.limits).toEqual([{ limit: 5, window: "1m" }])
  })
})

describe("a single rule", () => {
  const within = parseRuleSet(`version: 1
overrides: [{ client: "user:1", rule: api, limits: unlimited }]
rules:
  - { id: api, limits: unlimited }
  - { id: login, limits: unlimited }
`)

  function mistakes(text: string, id?: string): unknown[][] {
    try {
      parseRule(text, { within, id })
    } catch (error) {
      return (error as RuleSetError).problems.map(({ path, line, column }) => [path, line, column])
    }
    return []
  }

  it("is read as a part of its set, which does not change", () => {
    const rule = parseRule("id: login\nreplaces: [api]\nlimits: unlimited\n", { within, id: "login" })
    expect(rule).toEqual({ id: "login", replaces: ["api"], limits: "unlimited" })
    expect(within.rules).toHaveLength(2)
    expect(within.rules[1]).toEqual({ id: "login", limits: "unlimited" })
  })

  it("has its mistakes where they are in its own text", () => {
    expect(mistakes("id: login\nlimits:\n  - limit: 0\n    window: 1m\nmoed: off\n", "login")).toEqual([
      ["rules[1].limits[0].limit", 3, 12],
      ["rules[1].moed", 5, 1],
    ])
  })

  it("has no place for a mistake that it makes elsewhere", () => {
    expect(mistakes("id: other\nlimits: unlimited\n", "api")).toEqual([
      ["overrides[0].rule", undefined, undefined],
    ])
  })

  it("is added at the end if it replaces no rule, and then needs a new id", () => {
    expect(mistakes("id: new\nlimits: unlimited\n")).toEqual([])
    expect(mistakes("id: api\nlimits: unlimited\n")).toEqual([["rules[2].id", 1, 5]])
  })
})

describe("the JSON Schema", () => {
  it("describes every field and refuses others", () => {
    const schema = ruleSetJsonSchema() as {
      properties: object
      additionalProperties: boolean
      required: string[]
    }
    expect(Object.keys(schema.properties)).toEqual(
      expect.arrayContaining([
        "version",
        "identity",
        "defaults",
        "tiers",
        "allow",
        "deny",
        "overrides",
        "rules",
      ]),
    )
    expect(schema.additionalProperties).toBe(false)
    expect(schema.required).toEqual(["version", "rules"])
  })
})
