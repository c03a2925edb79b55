import { describe, expect, it } from "vitest"
import { RuleSetError } from "../language/rule-set-error.js"
import { type EnvoyImportOptions, importEnvoyConfig } from "./envoy.js"

function mistakesIn(texts: string | string[], options: EnvoyImportOptions = {}): RuleSetError {
  try {
    importEnvoyConfig(texts, options)
  } catch (error) {
    if (error instanceof RuleSetError) return error
    throw error
  }
  throw new Error("no mistake was found")
}

/** Each file has one mistake. Behind it: the line, the column, and all that is said. */
const mistakes: [name: string, text: string, said: string][] = [
  [
    "no domain",
    "descriptors:\n  - key: a\n",
    "1:1 domain is required and must not be empty [RULE_FIELD_INVALID]",
  ],
  ["an empty domain", 'domain: ""\n', "1:9 domain is required and must not be empty [RULE_FIELD_INVALID]"],
  ["nothing at all", "", "rule set must be a map with domain and descriptors, got null [RULE_FIELD_INVALID]"],
  [
    "an unknown field of a descriptor",
    "domain: d\ndescriptors:\n  - key: a\n    ratelimit: { unit: day, requests_per_unit: 5 }\n",
    "4:5 descriptors[0].ratelimit does not exist; did you mean rate_limit? [RULE_UNKNOWN_FIELD]",
  ],
  [
    "an unknown field of a limit",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit:\n      unit: day\n      requestsperunit: 5\n",
    "6:7 descriptors[0].rate_limit.requestsperunit does not exist; did you mean requests_per_unit? [RULE_UNKNOWN_FIELD]",
  ],
  [
    "a field whose name is a number",
    "0.25: d\ndomain: d\n",
    '1:1 ["0.25"] does not exist [RULE_UNKNOWN_FIELD]',
  ],
  [
    "a list of words",
    "domain: d\ndescriptors:\n  - a\n",
    '3:5 descriptors[0] must be a map with a key, got "a" [RULE_FIELD_INVALID]',
  ],
  [
    "a map where a list belongs",
    "domain: d\ndescriptors: { key: a }\n",
    "2:14 descriptors must be a list, got an object [RULE_FIELD_INVALID]",
  ],
  [
    "a descriptor without a key",
    "domain: d\ndescriptors:\n  - value: a\n",
    "3:5 descriptors[0].key is required and must not be empty [RULE_FIELD_INVALID]",
  ],
  [
    "an empty descriptor",
    "domain: d\ndescriptors: [{}]\n",
    "2:15 descriptors[0].key is required and must not be empty [RULE_FIELD_INVALID]",
  ],
  [
    "a key with a star",
    "domain: d\ndescriptors:\n  - key: a*\n",
    '3:10 descriptors[0].key must not have a * in it; only a value may, got "a*" [RULE_FIELD_INVALID]',
  ],
  [
    "the same key and value twice",
    "domain: d\ndescriptors:\n  - { key: a, value: b }\n  - { key: a, value: b }\n",
    '4:5 descriptors[1] has key and value "a_b", and so has descriptors[0] [RULE_DUPLICATE]',
  ],
  [
    "a key that is another's key and value",
    "domain: d\ndescriptors:\n  - { key: a_b }\n  - { key: a, value: b }\n",
    '4:5 descriptors[1] has key and value "a_b", and so has descriptors[0] [RULE_DUPLICATE]',
  ],
  [
    "a unit that is none",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: foo, requests_per_unit: 5 }\n",
    '4:25 descriptors[0].rate_limit.unit must be one of second, minute, hour, day, week, month, year, got "foo" [RULE_FIELD_INVALID]',
  ],
  [
    "a limit without a unit",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { requests_per_unit: 5 }\n",
    "4:17 descriptors[0].rate_limit.unit is required and must be one of second, minute, hour, day, week, month, year [RULE_FIELD_INVALID]",
  ],
  [
    "a unit beside unlimited",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unlimited: true, unit: day }\n",
    '4:42 descriptors[0].rate_limit.unit cannot be combined with unlimited, got "day" [RULE_FIELD_INVALID]',
  ],
  [
    "a limit below 0",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: -1 }\n",
    "4:49 descriptors[0].rate_limit.requests_per_unit must be an integer from 0 to 4294967295, got -1 [RULE_FIELD_INVALID]",
  ],
  [
    "a limit of more than 32 bits",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 4294967296 }\n",
    "4:49 descriptors[0].rate_limit.requests_per_unit must be an integer from 0 to 4294967295, got 4294967296 [RULE_FIELD_INVALID]",
  ],
  [
    "a limit in quotes",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: '5' }\n",
    '4:49 descriptors[0].rate_limit.requests_per_unit must be an integer from 0 to 4294967295, got "5" [RULE_FIELD_INVALID]',
  ],
  [
    "a limit that may be octal",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 010 }\n",
    "4:49 descriptors[0].rate_limit.requests_per_unit must be an integer from 0 to 4294967295, got 010 [RULE_FIELD_INVALID]",
  ],
  [
    "a limit beyond the bounds of rules",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 4294967295 }\n",
    "3:5 descriptors[0] as a rule: limits[0].limit must be at most 1000000000 (maxLimit), got 4294967295 [RULE_OUT_OF_BOUNDS]",
  ],
  [
    "a limit that is a word",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: none\n",
    '4:17 descriptors[0].rate_limit must be a map with unit and requests_per_unit, got "none" [RULE_FIELD_INVALID]',
  ],
  [
    "a value with a fraction",
    "domain: d\ndescriptors:\n  - { key: version, value: 1.10 }\n",
    "3:28 descriptors[0].value must be a string: put it in quotes, got 1.10 [RULE_FIELD_INVALID]",
  ],
  [
    "a value with control characters",
    'domain: d\ndescriptors:\n  - { key: a, value: "b\\x07" }\n',
    "3:22 descriptors[0].value must not have control characters [PATTERN_INVALID]",
  ],
  [
    "a flag that is a number",
    "domain: d\ndescriptors:\n  - { key: a, shadow_mode: 1 }\n",
    "3:28 descriptors[0].shadow_mode must be true or false, got 1 [RULE_FIELD_INVALID]",
  ],
  [
    "replaces without a name",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 5, replaces: [{ name: }] }\n",
    "4:71 descriptors[0].rate_limit.replaces[0].name is required and must not be empty [RULE_FIELD_INVALID]",
  ],
  [
    "a limit that replaces itself",
    "domain: d\ndescriptors:\n  - key: a\n    rate_limit: { unit: day, requests_per_unit: 5, name: x, replaces: [{ name: x }] }\n",
    '4:80 descriptors[0].rate_limit.replaces[0].name must not be the name of the limit itself, got "x" [RULE_REFERENCE_UNKNOWN]',
  ],
  [
    "share_threshold on an exact value",
    "domain: d\ndescriptors:\n  - { key: a, value: b, share_threshold: true }\n",
    '3:42 descriptors[0].share_threshold needs a value with a * in it, got value "b" [RULE_FIELD_INVALID]',
  ],
  [
    "share_threshold without a value",
    "domain: d\ndescriptors:\n  - { key: a, share_threshold: true }\n",
    "3:32 descriptors[0].share_threshold needs a value with a * in it, got no value [RULE_FIELD_INVALID]",
  ],
  [
    "quota_mode",
    "domain: d\ndescriptors:\n  - { key: a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 5 } }\n",
    "3:27 descriptors[0].quota_mode is not supported: rules cannot require that only one of several limits allows a request [RULE_FIELD_INVALID]",
  ],
]

describe("a configuration with one mistake", () => {
  it.each(mistakes)("reports the mistake in %s", (_name, text, said) => {
    const { message } = mistakesIn(text, { name: "envoy.yaml" })
    expect(message).toBe(`envoy.yaml: 1 mistake\n  ${said}\n [RULES_INVALID]`)
  })

  it("is refused in nested descriptors as well", () => {
    const text =
      "domain: d\ndescriptors:\n  - key: a\n    descriptors:\n      - { key: b }\n      - { key: b }\n"
    expect(mistakesIn(text).problems).toMatchObject([
      { code: "RULE_DUPLICATE", path: "descriptors[0].descriptors[1]", line: 6, column: 9 },
    ])
  })
})

describe("a configuration with many mistakes", () => {
  it("has all of them reported at once, in the order of the text", () => {
    const text = [
      "domain: d",
      "descriptor: []",
      "descriptors:",
      "  - { key: a, rate_limit: { unit: eon, requests_per_unit: x } }",
      "  - { value: b, shadow_mode: maybe }",
      "  - { key: a }",
    ].join("\n")
    expect(mistakesIn(text).problems.map(({ line, column, path }) => [line, column, path])).toEqual([
      [2, 1, "descriptor"],
      [4, 35, "descriptors[0].rate_limit.unit"],
      [4, 59, "descriptors[0].rate_limit.requests_per_unit"],
      [5, 5, "descriptors[1].key"],
      [5, 30, "descriptors[1].shadow_mode"],
      [6, 5, "descriptors[2]"],
    ])
  })
})

describe("several texts", () => {
  const a = "domain: d\ndescriptors: [{ key: a }]\n"

  it("of one domain are refused, by the names of their files", () => {
    const { message } = mistakesIn([a, a], { name: ["a.yaml", "b.yaml"] })
    expect(message).toBe(
      "a.yaml, b.yaml: 1 mistake\n  1:9 b.yaml: domain is already the domain of a.yaml; use mergeDomains to merge them [RULE_DUPLICATE]\n [RULES_INVALID]",
    )
  })

  it("of one domain must differ in their descriptors when they are merged", () => {
    const { problems } = mistakesIn([a, a], { mergeDomains: true })
    expect(problems).toEqual([
      {
        code: "RULE_DUPLICATE",
        path: "envoy[1]: descriptors[0]",
        message: 'has key and value "a", and so has envoy[0]: descriptors[0]',
        line: 2,
        column: 15,
      },
    ])
  })
})

describe("text that is no configuration", () => {
  it.each([
    ["broken YAML", "'''\n"],
    ["two documents in one", "domain: a\n---\ndomain: b\n"],
    ["a field given twice", "domain: a\ndomain: b\n"],
    ["brackets without end", "[".repeat(100_000)],
    ["an alias inside of itself", "domain: d\ndescriptors: &d [{ key: a, descriptors: *d }]\n"],
  ])("refuses %s", (_name, text) => {
    expect(mistakesIn(text).problems[0]?.code).toBe("RULES_SYNTAX")
  })

  it("refuses descriptors nested deeper than any request", () => {
    const deep = Array.from(
      { length: 40 },
      (_, i) => `${"  ".repeat(i)}- key: k\n${"  ".repeat(i)}  descriptors:\n`,
    )
    expect(mistakesIn(`domain: d\ndescriptors:\n${deep.join("")}`).message).toContain(
      "must not be nested deeper than 32 [RULE_FIELD_INVALID]",
    )
  })

  it("refuses more text than maxBytes, and more rules than maxRules", () => {
    const rule = (key: string) => `{ key: ${key}, rate_limit: { unit: day, requests_per_unit: 1 } }`
    const text = `domain: d\ndescriptors: [${rule("a")}, ${rule("b")}]\n`
    expect(mistakesIn(text, { guardRails: { maxBytes: 10 } }).message).toContain(
      "at most 10 bytes (maxBytes)",
    )
    expect(mistakesIn(text, { guardRails: { maxRules: 1 } }).message).toContain(
      "as a rule: rules must have at most 1 (maxRules), got 2 [RULE_OUT_OF_BOUNDS]",
    )
  })

  it("refuses options that do not exist", () => {
    expect(() => importEnvoyConfig("domain: d\n", { mergeDomain: true } as object)).toThrow(
      /did you mean mergeDomains\?.*OPTION_UNKNOWN/,
    )
  })
})
