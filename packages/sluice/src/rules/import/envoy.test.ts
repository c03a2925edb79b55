import { describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { ManualClock } from "../../testing/manual-clock.js"
import { createRuleEngine, type RuleEngine } from "../engine/engine.js"
import { parseRuleSet } from "../language/parse.js"
import type { RuleSpec } from "../language/schema.js"
import { importEnvoyConfig } from "./envoy.js"

function rulesOf(descriptors: string, domain = "edge"): RuleSpec[] {
  return importEnvoyConfig(`domain: ${domain}\ndescriptors:\n${descriptors}`).document.rules
}

function notesOn(descriptors: string): string[] {
  const { notes } = importEnvoyConfig(`domain: edge\ndescriptors:\n${descriptors}`)
  return notes.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`)
}

/** Rules by id, without what is the same in all of them. */
function briefly(rules: readonly RuleSpec[]) {
  return Object.fromEntries(
    rules.map(({ id, match, keyBy: _keyBy, limits, ...rest }) => [
      id,
      { on: match?.descriptor, limits: limits === "unlimited" ? limits : limits[0]?.limit, ...rest },
    ]),
  )
}

function start(descriptors: string) {
  const clock = new ManualClock()
  const { document } = importEnvoyConfig(`domain: edge\ndescriptors:\n${descriptors}`)
  const engine = createRuleEngine({ rules: document, clock })
  return { clock, engine }
}

/** Asks with descriptors written as `k=v,k=v`. */
function ask(engine: RuleEngine, ...descriptors: string[]) {
  return engine.checkSync({
    domain: "edge",
    descriptors: descriptors.map((text) => ({
      entries: text.split(",").map((entry) => {
        const [key = "", value = ""] = entry.split("=")
        return { key, value }
      }),
    })),
  })
}

describe("a limit", () => {
  it("becomes a rule for its path, counted in aligned windows by all entries", () => {
    expect(
      rulesOf("  - { key: db, value: users, rate_limit: { unit: second, requests_per_unit: 500 } }"),
    ).toEqual([
      {
        id: "edge.db_users",
        match: { domain: "edge", descriptor: [{ key: "db", value: "users" }] },
        keyBy: "descriptor",
        limits: [{ limit: 500, window: "1s", algorithm: "fixed-window" }],
      },
    ])
  })

  it.each([
    ["second", "1s"],
    ["MINUTE", "1m"],
    ["Hour", "1h"],
    ["day", "1d"],
    ["week", "7d"],
    ["month", "30d"],
    ["year", "365d"],
  ])("per %s has a window of %s", (unit, window) => {
    const [rule] = rulesOf(`  - { key: a, rate_limit: { unit: ${unit}, requests_per_unit: 1 } }`)
    expect(rule?.limits).toMatchObject([{ window }])
  })

  it("of 0 denies everything, and is noted when it is 0 by omission", () => {
    const { engine, clock } = start("  - { key: a, rate_limit: { unit: second, requests_per_unit: 0 } }")
    expect(ask(engine, "a=1")).toMatchObject({ allowed: false, rule: "edge.a" })
    clock.advance(86_400_000)
    expect(ask(engine, "a=1").allowed).toBe(false)
    expect(ask(engine, "b=1").allowed).toBe(true)
    expect(notesOn("  - { key: a, rate_limit: { unit: second } }")).toEqual([
      "3:27 descriptors[0].rate_limit.requests_per_unit is missing, which means 0: all requests are denied",
    ])
  })

  it("that is unlimited counts nothing", () => {
    expect(rulesOf("  - { key: a, rate_limit: { unlimited: true, name: free } }")).toEqual([
      {
        id: "edge.a",
        description: "free",
        match: { domain: "edge", descriptor: [{ key: "a" }] },
        limits: "unlimited",
      },
    ])
  })

  it("keeps its name, in the description when it is too long for a limit", () => {
    const long = "n".repeat(65)
    const rules = rulesOf(
      [
        "  - { key: a, rate_limit: { unit: day, requests_per_unit: 1, name: daily } }",
        `  - { key: b, rate_limit: { unit: day, requests_per_unit: 1, name: ${long} } }`,
      ].join("\n"),
    )
    expect(rules[0]?.limits).toMatchObject([{ name: "daily" }])
    expect(rules[1]).toMatchObject({ description: long })
    expect(rules[1]?.limits).not.toMatchObject([{ name: long }])
  })
})

describe("descriptors beside each other", () => {
  it("go from exact over wildcards in file order to the bare key, each without what came before", () => {
    const rules = rulesOf(
      [
        "  - { key: p, rate_limit: { unit: day, requests_per_unit: 1 } }",
        "  - { key: p, value: /a/*, rate_limit: { unit: day, requests_per_unit: 2 } }",
        "  - { key: p, value: /a/b, rate_limit: { unit: day, requests_per_unit: 3 } }",
        "  - { key: p, value: '*/c', rate_limit: { unit: day, requests_per_unit: 4 } }",
        "  - { key: p, value: /z, rate_limit: { unit: day, requests_per_unit: 5 } }",
        "  - { key: other, rate_limit: { unit: day, requests_per_unit: 6 } }",
      ].join("\n"),
    )
    expect(rules.map(({ match }) => match?.descriptor?.[0])).toEqual([
      { key: "p", not: ["/z", "/a/*", "*/c"] },
      { key: "p", value: "/a/*", not: ["/a/b"] },
      { key: "p", value: "/a/b" },
      { key: "p", value: "*/c", not: ["/a/*"] },
      { key: "p", value: "/z" },
      { key: "other" },
    ])
  })

  it("hide the less specific even without a limit of their own", () => {
    const { engine } = start(
      [
        "  - { key: user, rate_limit: { unit: day, requests_per_unit: 1 } }",
        "  - { key: user, value: root }",
        "  - { key: user, value: bot*, descriptors: [{ key: x, rate_limit: { unit: day, requests_per_unit: 1 } }] }",
      ].join("\n"),
    )
    for (const user of ["root", "bot7"])
      expect([ask(engine, `user=${user}`).reason, ask(engine, `user=${user}`).reason]).toEqual([
        "no-rule",
        "no-rule",
      ])
    expect([ask(engine, "user=eve").allowed, ask(engine, "user=eve").allowed]).toEqual([true, false])
  })

  it("are never tried again when the chosen one leads nowhere", () => {
    const { engine } = start(
      [
        "  - { key: a, value: x, descriptors: [{ key: b, value: '1', rate_limit: { unit: day, requests_per_unit: 1 } }] }",
        "  - { key: a, descriptors: [{ key: b, rate_limit: { unit: day, requests_per_unit: 1 } }] }",
      ].join("\n"),
    )
    expect(ask(engine, "a=x,b=2").reason).toBe("no-rule")
    expect(ask(engine, "a=y,b=2").rule).toBe("edge.a.b")
    expect(ask(engine, "a=x,b=1").rule).toBe("edge.a_x.b_1")
  })

  it("are noted when an earlier wildcard leaves them nothing", () => {
    const text = [
      "  - { key: a, value: 'x*', rate_limit: { unit: day, requests_per_unit: 1 } }",
      "  - { key: a, value: 'xy*z', rate_limit: { unit: day, requests_per_unit: 1 } }",
      "  - { key: b, value: '*' }",
      "  - { key: b, rate_limit: { unit: day, requests_per_unit: 1 } }",
    ].join("\n")
    expect(rulesOf(text)).toHaveLength(1)
    expect(notesOn(text)).toEqual([
      "4:5 descriptors[1] is never used: descriptors[0] comes before it and matches all of its values",
      "6:5 descriptors[3] is never used: descriptors[2] comes before it and matches all of its values",
    ])
  })

  it("are noted when joining key and value there makes one key look like another", () => {
    expect(
      notesOn(
        [
          "  - { key: key1, rate_limit: { unit: day, requests_per_unit: 1 } }",
          "  - { key: key1_local, rate_limit: { unit: day, requests_per_unit: 1 } }",
          "  - { key: path, value: 'p*' }",
          "  - { key: path_prefix }",
        ].join("\n"),
      ),
    ).toEqual([
      '4:5 descriptors[1] may also match key "key1" in envoyproxy/ratelimit, which joins key and value by "_"; Sluice compares whole keys',
      '5:5 descriptors[2] may also match key "path_prefix" in envoyproxy/ratelimit, which joins key and value by "_"; Sluice compares whole keys',
      '6:5 descriptors[3] may also match key "path" in envoyproxy/ratelimit, which joins key and value by "_"; Sluice compares whole keys',
    ])
  })
})

describe("share_threshold", () => {
  it.each([
    [
      "on the only entry, for one counter",
      "[{ key: f, value: 'a*', share_threshold: true, LIMIT }]",
      "global",
    ],
    [
      "on the first of two entries",
      "[{ key: f, value: 'a*', share_threshold: true, descriptors: [{ key: m, LIMIT }] }]",
      "descriptor:1",
    ],
    [
      "on the second of three entries",
      "[{ key: f, descriptors: [{ key: g, value: '*', share_threshold: true, descriptors: [{ key: m, LIMIT }] }] }]",
      ["descriptor:0", "descriptor:2"],
    ],
    ["that is off", "[{ key: f, value: 'a*', share_threshold: false, LIMIT }]", "descriptor"],
  ])("%s leaves out what is shared", (_name, list, keyBy) => {
    const text = list.replace("LIMIT", "rate_limit: { unit: day, requests_per_unit: 1 }")
    expect(importEnvoyConfig(`domain: d\ndescriptors: ${text}\n`).document.rules[0]?.keyBy).toEqual(keyBy)
  })
})

describe("replaces", () => {
  const limit = (more: string) => `rate_limit: { unit: day, requests_per_unit: 1, ${more} }`

  it("names every rule whose limit has the name, in this domain alone", () => {
    const { document, notes } = importEnvoyConfig([
      [
        "domain: one",
        "descriptors:",
        `  - { key: a, ${limit("name: x")} }`,
        `  - { key: b, descriptors: [{ key: c, ${limit("name: x")} }] }`,
        `  - { key: d, ${limit("replaces: [{ name: x }, { name: nobody }]")} }`,
      ].join("\n"),
      `domain: two\ndescriptors:\n  - { key: a, ${limit("name: x")} }\n`,
    ])
    expect(document.rules.map(({ id, replaces }) => [id, replaces])).toEqual([
      ["one.a", undefined],
      ["one.b.c", undefined],
      ["one.d", ["one.a", "one.b.c"]],
      ["two.a", undefined],
    ])
    expect(notes.map(({ path, message }) => `${path} ${message}`)).toEqual([
      'envoy[0]: descriptors[2].rate_limit.replaces[1].name names a limit that domain "one" does not have',
    ])
  })

  it("is done for a shadow by a rule without limits", () => {
    const text = [
      `  - { key: a, ${limit("name: x")} }`,
      `  - { key: b, shadow_mode: true, ${limit("replaces: [{ name: x }]")} }`,
    ].join("\n")
    expect(briefly(rulesOf(text))).toEqual({
      "edge.a": { on: [{ key: "a" }], limits: 1 },
      "edge.b": { on: [{ key: "b" }], limits: 1, mode: "shadow" },
      "edge.b.replaces": {
        on: [{ key: "b" }],
        limits: "unlimited",
        description: "Takes the place of others for edge.b, which is in shadow.",
        replaces: ["edge.a"],
      },
    })
    const { engine } = start(text)
    for (let i = 0; i < 3; i++) expect(ask(engine, "a=1", "b=1").allowed).toBe(true)
    expect(ask(engine, "a=1").allowed).toBe(true)
    expect(ask(engine, "a=1").allowed).toBe(false)
  })

  it("takes places also when its own is taken", () => {
    const { engine } = start(
      [
        `  - { key: a, ${limit("name: x, replaces: [{ name: y }]")} }`,
        `  - { key: b, ${limit("name: y, replaces: [{ name: x }]")} }`,
      ].join("\n"),
    )
    for (let i = 0; i < 3; i++) expect(ask(engine, "a=1", "b=1").reason).toBe("no-rule")
  })
})

describe("what has no effect on decisions", () => {
  it("is noted with its place, and what is false or empty is not", () => {
    expect(
      notesOn(
        [
          "  - key: a",
          "    detailed_metric: true",
          "    value_to_metric: yes",
          "    metadata: { anything: [1.5, x] }",
          "    unlimited: true",
          "    rate_limit: { unit: day, requests_per_unit: 1, shadow_mode: true }",
          "  - { key: b, detailed_metric: false, value_to_metric: no, metadata: , quota_mode: off }",
        ].join("\n"),
      ),
    ).toEqual([
      "4:22 descriptors[0].detailed_metric changes no decision; the metrics of Sluice are by rule",
      "5:22 descriptors[0].value_to_metric changes no decision; the metrics of Sluice are by rule",
      "6:15 descriptors[0].metadata changes no decision and is ignored",
      "7:5 descriptors[0].unlimited has no effect; it is a field of rate_limit",
      "8:52 descriptors[0].rate_limit.shadow_mode has no effect; it is a field of a descriptor",
    ])
  })
})

describe("text without quotes", () => {
  it("is a value as it is written", () => {
    const values = ["00501", "404", "true", "on", "2026-01-01", "0x1F"]
    const rules = rulesOf(
      values
        .map(
          (value) => `  - { key: a, value: ${value}, rate_limit: { unit: day, requests_per_unit: 1_000 } }`,
        )
        .join("\n"),
    )
    expect(rules.map(({ match }) => match?.descriptor?.[0]?.value)).toEqual(values)
    expect(rules[0]?.limits).toMatchObject([{ limit: 1_000 }])
  })

  it("may be merged and repeated by aliases", () => {
    const rules = rulesOf(
      [
        "  - { key: a, rate_limit: &limit { unit: day, requests_per_unit: 7 } }",
        "  - { key: b, rate_limit: { <<: *limit, name: x } }",
        "  - { key: c, rate_limit: *limit }",
      ].join("\n"),
    )
    expect(Object.values(briefly(rules)).map(({ limits }) => limits)).toEqual([7, 7, 7])
  })
})

describe("ids", () => {
  const limit = "rate_limit: { unit: day, requests_per_unit: 1 }"

  it("are unique, valid, and do not depend on what is around", () => {
    const paths = ["/a/*", "/a/+", "-a-", "/a/", "é", "x".repeat(80)]
    const text = paths.map((path) => `  - { key: p, value: '${path}', ${limit} }`)
    const ids = rulesOf(text.join("\n")).map(({ id }) => id)
    expect(new Set(ids).size).toBe(paths.length)
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
    const backwards = rulesOf([...text].reverse().join("\n")).map(({ id }) => id)
    expect(backwards.reverse()).toEqual(ids)
  })

  it("tell a dot in a key from a step inside", () => {
    const ids = rulesOf(`  - { key: a.b, ${limit} }\n  - { key: a, descriptors: [{ key: b, ${limit} }] }\n`)
    expect(new Set(ids.map(({ id }) => id)).size).toBe(2)
  })

  it("exist for domains without a letter that ids may have", () => {
    const [rule] = rulesOf(`  - { key: 鍵, ${limit} }`, "域")
    expect(rule?.id).toMatch(/^envoy-[0-9a-f]{8}$/)
    expect(rule?.description).toBe("域.鍵")
  })
})

describe("several texts", () => {
  const text = (domain: string, key: string) =>
    `domain: ${domain}\ndescriptors:\n  - { key: ${key}, value: 'x*', rate_limit: { unit: day, requests_per_unit: 1 } }\n`

  it("of one domain are one list of descriptors when they are merged", () => {
    const { document } = importEnvoyConfig(
      [text("d", "a"), "domain: d\ndescriptors: [{ key: a, value: xy }, { key: a, value: 'x*y' }]\n"],
      { mergeDomains: true },
    )
    expect(document.rules.map(({ match }) => match?.descriptor)).toEqual([
      [{ key: "a", value: "x*", not: ["xy"] }],
    ])
  })

  it("of several domains stay apart", () => {
    const { document } = importEnvoyConfig([text("d", "a"), text("e", "a")])
    expect(document.rules.map(({ match }) => match?.domain)).toEqual(["d", "e"])
  })
})

describe("the document", () => {
  it("can be written and read again, however many rules share an exception", () => {
    const inner = Array.from(
      { length: 150 },
      (_, i) => `{ key: b, value: v${i}, rate_limit: { unit: day, requests_per_unit: 1 } }`,
    )
    const { document } = importEnvoyConfig(
      `domain: d\ndescriptors: [{ key: a, value: x }, { key: a, descriptors: [${inner}] }]\n`,
    )
    expect(document.rules).toHaveLength(150)
    expect(parseRuleSet(stringify(document))).toEqual(document)
  })
})
