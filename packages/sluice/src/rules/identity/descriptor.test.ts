import { afterEach, describe, expect, it } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine, type RuleEngine } from "../engine/engine.js"
import { checkRuleSet } from "../language/parse.js"
import type { RuleSpec } from "../language/schema.js"
import type { Descriptor } from "./descriptor.js"

type Entries = NonNullable<NonNullable<RuleSpec["match"]>["descriptor"]>

const engines: RuleEngine[] = []
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

function start(...rules: RuleSpec[]) {
  const engine = createRuleEngine({ rules: { version: 1, rules }, clock: new ManualClock() })
  engines.push(engine)
  return engine
}

/** A rule of so many requests a minute about descriptors of the domain `edge`. */
function rule(id: string, limit: number, descriptor: Entries, more: Partial<RuleSpec> = {}): RuleSpec {
  return {
    id,
    match: { domain: "edge", descriptor },
    keyBy: "descriptor",
    limits: [{ limit, window: "1m", algorithm: "fixed-window" }],
    ...more,
  }
}

/** A descriptor written as `k=v,k=v`. */
function descriptor(text: string, cost?: number): Descriptor {
  const entries = text.split(",").map((entry) => {
    const [key = "", value = ""] = entry.split("=")
    return { key, value }
  })
  return cost === undefined ? { entries } : { entries, cost }
}

const asked = (...descriptors: (string | Descriptor)[]) => ({
  domain: "edge",
  descriptors: descriptors.map((one) => (typeof one === "string" ? descriptor(one) : one)),
})

describe("a rule about descriptors", () => {
  it.each<[Entries, string, boolean]>([
    [[{ key: "a" }], "a=1", true],
    [[{ key: "a" }], "a=", true],
    [[{ key: "a" }], "b=1", false],
    [[{ key: "a" }], "a=1,b=1", false],
    [[{ key: "a" }, { key: "b" }], "a=1", false],
    [[{ key: "a" }, { key: "b" }], "a=1,b=1", true],
    [[{ key: "a" }, { key: "b" }], "b=1,a=1", false],
    [[{ key: "a", value: "1" }], "a=1", true],
    [[{ key: "a", value: "1" }], "a=11", false],
    [[{ key: "a", value: "" }], "a=", true],
    [[{ key: "a", value: "" }], "a=1", false],
    [[{ key: "a", value: "1*3" }], "a=123", true],
    [[{ key: "a", value: "1*3" }], "a=13", true],
    [[{ key: "a", value: "1*3" }], "a=124", false],
    [[{ key: "a", not: ["1"] }], "a=1", false],
    [[{ key: "a", not: ["1"] }], "a=11", true],
    [[{ key: "a", not: ["1*", "*9"] }], "a=19", false],
    [[{ key: "a", not: ["1*", "*9"] }], "a=29", false],
    [[{ key: "a", not: ["1*", "*9"] }], "a=20", true],
    [[{ key: "a", value: "1*", not: ["12"] }], "a=12", false],
    [[{ key: "a", value: "1*", not: ["12"] }], "a=13", true],
    [[{ key: "a", value: "1", not: ["1"] }], "a=1", false],
    [
      [
        { key: "a", value: "1" },
        { key: "b", not: ["2"] },
      ],
      "a=1,b=2",
      false,
    ],
    [
      [
        { key: "a", value: "1" },
        { key: "b", not: ["2"] },
      ],
      "a=1,b=3",
      true,
    ],
  ])("on %o and asked about %s applies: %s", async (entries, text, applies) => {
    const engine = start(rule("a", 5, entries))
    expect((await engine.check(asked(text))).rules).toHaveLength(applies ? 1 : 0)
  })

  it("does not apply in another domain, nor without descriptors", async () => {
    const engine = start(rule("a", 5, [{ key: "a" }]))
    const { descriptors } = asked("a=1")
    expect((await engine.check({ domain: "core", descriptors })).reason).toBe("no-rule")
    expect((await engine.check({ descriptors })).reason).toBe("no-rule")
    expect((await engine.check({ domain: "edge" })).reason).toBe("no-rule")
    expect((await engine.check({ domain: "edge", descriptors: [] })).reason).toBe("no-rule")
  })

  it("does not match other keys or values that join to the same text", async () => {
    const engine = start(rule("a", 5, [{ key: "a", value: "b1:c" }]))
    expect((await engine.check(asked("a=b1:c"))).rules).toHaveLength(1)
    expect((await engine.check(asked("a=b,1:c=1"))).rules).toHaveLength(0)
    expect((await engine.check(asked("ab1=:c"))).rules).toHaveLength(0)
  })

  it("applies together with plain rules, which match once for any number of descriptors", async () => {
    const plain = { id: "all", keyBy: "global", limits: [{ limit: 9, window: "1m" }] }
    const engine = start(plain, rule("a", 5, [{ key: "a" }]))
    const { rules } = await engine.check(asked("a=1", "a=2"))
    expect(rules.map(({ rule: id, descriptor: at }) => [id, at])).toEqual([
      ["all", undefined],
      ["a", 0],
      ["a", 1],
    ])
  })

  it.each<[string, object, string]>([
    ["a domain alone", { domain: "edge" }, "match.descriptor is required: domain and descriptor go together"],
    [
      "a descriptor alone",
      { descriptor: [{ key: "a" }] },
      "match.domain is required: domain and descriptor go together",
    ],
    [
      "a path beside them",
      { domain: "edge", descriptor: [{ key: "a" }], path: "/a" },
      "match.path cannot be combined with domain and descriptor",
    ],
    [
      "a value with control characters",
      { domain: "edge", descriptor: [{ key: "a", not: ["b", "\n"] }] },
      "match.descriptor[0].not[1] must not have control characters",
    ],
  ])("is refused with %s", (_name, match, said) => {
    const set = { version: 1, rules: [{ id: "a", match, limits: "unlimited" }] }
    expect(() => checkRuleSet(set)).toThrow(said)
  })
})

describe("thousands of rules about the same keys", () => {
  const count = 5_000
  const many = (first: Entries[number], last: (i: number) => Entries[number]) =>
    Array.from({ length: count }, (_, i) => rule(`r${i}`, 1, [first, last(i)]))

  it.each<[string, RuleSpec[]]>([
    ["the last value is exact", many({ key: "a" }, (i) => ({ key: "b", value: `v${i}` }))],
    ["the first is a glob", many({ key: "a", value: "x*" }, (i) => ({ key: "b", value: `v${i}` }))],
    ["all but one are left out", many({ key: "a", not: ["y"] }, (i) => ({ key: "b", value: `v${i}` }))],
  ])("are not all tested when %s", async (_name, rules) => {
    const engine = start(...rules, rule("any", 9, [{ key: "a" }, { key: "b" }]))
    let reads = 0
    const last = {
      key: "b",
      get value() {
        reads++
        return `v${count - 1}`
      },
    }
    const request = { domain: "edge", descriptors: [{ entries: [{ key: "a", value: "x" }, last] }] }
    const decision = await engine.check(request)
    expect(decision.rules.map((one) => one.rule)).toEqual([`r${count - 1}`, "any"])
    expect(reads).toBeLessThan(20)
  })
})

describe("a plain rule and a request with descriptors", () => {
  const plain = (more: Partial<RuleSpec>): RuleSpec => ({
    id: "plain",
    limits: [{ limit: 1, window: "1m", algorithm: "fixed-window" }],
    ...more,
  })

  it.each<[string, Partial<RuleSpec>]>([
    ["by address", {}],
    ["by user", { keyBy: "user" }],
    ["by API key, in a list", { keyBy: ["apiKey", "method"] }],
  ])("do not match when the rule counts %s", async (_name, more) => {
    const engine = start(plain(more), rule("a", 9, [{ key: "a" }]))
    for (let i = 0; i < 3; i++) {
      const { allowed, rules } = await engine.check(asked("a=1"))
      expect([allowed, rules.map((one) => one.rule)]).toEqual([true, ["a"]])
    }
    expect((await engine.explain(asked("a=1"))).rules[0]).toMatchObject({
      applies: false,
      because: "the request has descriptors and no key for a rule that is not about them",
    })
  })

  it("match when the request has the key", async () => {
    const engine = start(plain({}), rule("a", 9, [{ key: "a" }]))
    const { rules } = await engine.check({ ...asked("a=1"), ip: "1.1.1.1" })
    expect(rules.map((one) => one.rule)).toEqual(["plain", "a"])
  })

  it("match when the rule denies requests without the key", async () => {
    const engine = start(plain({ onMissingKey: "deny" }), rule("a", 9, [{ key: "a" }]))
    expect(await engine.check(asked("a=1"))).toMatchObject({ allowed: false, reason: "missing-key" })
  })
})

describe("the key of a descriptor", () => {
  it.each<[RuleSpec["keyBy"], string, string]>([
    ["descriptor", "a=1,b=2", "descriptor:a=1&b=2"],
    ["descriptor", "a=x%y,b=2&c", "descriptor:a=x%25y&b=2%26c"],
    ["descriptor:0", "a=1,b=2", "descriptor:0:1"],
    ["descriptor:1", "a=1,b=2", "descriptor:1:2"],
    [["descriptor:0", "descriptor:1"], "a=1,b=", "descriptor:0:1,descriptor:1:"],
    ["global", "a=1,b=2", "global"],
  ])("by %o of %s", async (keyBy, text, key) => {
    const engine = start(rule("r", 5, [{ key: "a" }, { key: "b" }], keyBy === undefined ? {} : { keyBy }))
    expect((await engine.check(asked(text))).rules[0]?.key).toBe(key)
  })

  it("by one entry does not depend on the other entries", async () => {
    const engine = start(rule("r", 1, [{ key: "a" }, { key: "b" }], { keyBy: "descriptor:1" }))
    expect((await engine.check(asked("a=1,b=2"))).allowed).toBe(true)
    expect((await engine.check(asked("a=9,b=2"))).allowed).toBe(false)
    expect((await engine.check(asked("a=9,b=3"))).allowed).toBe(true)
  })

  it("by an entry that does not exist is missing, so that the rule can deny all", async () => {
    const engine = start(rule("r", 5, [{ key: "a" }], { keyBy: "descriptor:1", onMissingKey: "deny" }))
    expect(await engine.check(asked("a=1"))).toMatchObject({
      allowed: false,
      reason: "missing-key",
      rule: "r",
    })
  })
})

describe("several descriptors in one check", () => {
  it("are all charged, or none of them", async () => {
    const engine = start(rule("a", 10, [{ key: "a" }]), rule("b", 1, [{ key: "b" }]))
    expect((await engine.check(asked("a=1", "b=1"))).allowed).toBe(true)
    const denied = await engine.check(asked("a=1", "b=1"))
    expect(denied).toMatchObject({ allowed: false, rule: "b" })
    expect(denied.rules.map(({ descriptor: at, allowed }) => [at, allowed])).toEqual([
      [0, true],
      [1, false],
    ])
    expect((await engine.peek(asked("a=1"))).remaining).toBe(9)
  })

  it("that are the same are charged as their sum", async () => {
    const engine = start(rule("a", 3, [{ key: "a" }]))
    expect((await engine.check(asked("a=1", "a=1"))).allowed).toBe(true)
    expect((await engine.check(asked("a=1", "a=1"))).allowed).toBe(false)
    expect((await engine.check(asked("a=1"))).allowed).toBe(true)
  })

  it("that match one rule have separate names in headers", async () => {
    const engine = start(rule("a", 2, [{ key: "a" }]))
    await engine.check(asked("a=2"))
    await engine.check(asked("a=2"))
    const denied = await engine.check(asked("a=1", "a=2", "a=3"))
    expect(denied.policies.map(({ name }) => name)).toEqual(["a", "a#2", "a#3"])
    expect(denied.limits?.map(({ name, allowed }) => [name, allowed])).toEqual([
      ["a", true],
      ["a#2", false],
      ["a#3", true],
    ])
    expect(denied).toMatchObject({ deniedBy: "a#2", rule: "a" })
  })

  it("of which one meets a rule that replaces leave the replaced out for all of them", async () => {
    const engine = start(rule("a", 1, [{ key: "a" }]), rule("b", 9, [{ key: "b" }], { replaces: ["a"] }))
    const { rules } = await engine.check(asked("a=1", "b=1", "a=2"))
    expect(rules.map(({ rule: id, descriptor: at }) => [id, at])).toEqual([["b", 1]])
  })
})

describe("the cost of a descriptor", () => {
  it("replaces the cost of the request, for this descriptor only", async () => {
    const engine = start(rule("a", 10, [{ key: "a" }]))
    const { rules } = await engine.check(asked(descriptor("a=1", 4), "a=2"), { cost: 2 })
    expect(rules.map(({ limits }) => limits[0]?.remaining)).toEqual([6, 8])
  })

  it("of 0 is a peek", async () => {
    const engine = start(rule("a", 1, [{ key: "a" }]))
    for (let i = 0; i < 3; i++) expect((await engine.check(asked(descriptor("a=1", 0)))).remaining).toBe(1)
  })

  it("charges nothing when the whole check is a peek", async () => {
    const engine = start(rule("a", 10, [{ key: "a" }]))
    await engine.peek(asked(descriptor("a=1", 4)))
    expect((await engine.peek(asked("a=1"))).remaining).toBe(10)
  })

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])("is refused when it is %s", async (cost) => {
    const engine = start(rule("a", 1, [{ key: "a" }]))
    await expect(engine.check(asked(descriptor("a=1", cost)))).rejects.toThrow(/COST_INVALID/)
    expect((await engine.peek(asked("a=1"))).remaining).toBe(1)
  })
})

describe("explain", () => {
  const about = async (request: object) => {
    const engine = start(rule("a", 5, [{ key: "a", value: "1*" }, { key: "b" }]))
    return (await engine.explain(request)).rules[0]
  }

  it("lists the descriptors when none matches the rule", async () => {
    expect((await about(asked("a=2,b=1", "c=3")))?.because).toBe(
      'descriptor is "edge: a=2, b=1; edge: c=3", and must be edge: a=1*, b=*',
    )
    expect((await about({ path: "/" }))?.because).toBe("descriptor is not there, and must be edge: a=1*, b=*")
  })

  it("reports the key, cost and limits with which a descriptor matches the rule", async () => {
    expect(await about(asked("c=3", descriptor("a=12,b=x", 2)))).toMatchObject({
      matched: true,
      applies: true,
      because: "domain and descriptor match",
      key: "descriptor:a=12&b=x",
      cost: 2,
      limits: [{ limit: 5, remaining: 5 }],
    })
  })
})
