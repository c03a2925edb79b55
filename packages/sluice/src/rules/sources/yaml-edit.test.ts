import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { parseRuleSet } from "../language/parse.js"
import type { RuleSetDocument } from "../language/schema.js"
import { editRuleText } from "./yaml-edit.js"

const yaml = `# The rules of the shop.
version: 1

# Asked for by the partners.
allow:
  - ip:10.0.0.0/8 # the office
  - user:42

rules:
  # Slow down guessing of passwords.
  - id: login
    match: { path: /login, method: POST }
    limits:
      - limit: 5 # see ticket 12
        window: 1m

  # Everything else.
  - id: api
    description: "the rest"
    limits:
      - { limit: 100, window: 1s }
      - limit: 1000
        window: 1h
# The end.
`

/** The text after an edit of the parsed set. */
function edit(text: string, change: (document: RuleSetDocument) => void): string {
  const before = parseRuleSet(text)
  const after = structuredClone(before)
  change(after)
  const edited = editRuleText(text, before, after)
  expect(parse(edited)).toEqual(after)
  return edited
}

/** Lines that went (-) and came (+). */
function changes(before: string, after: string): string[] {
  const [old, now] = [before.split("\n"), after.split("\n")]
  const gone = old.filter((line) => !now.includes(line)).map((line) => `-${line}`)
  return [...gone, ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`)]
}

// biome-ignore lint/suspicious/noExplicitAny: reaches into rules whose limits may also be "unlimited".
const limits = (document: RuleSetDocument, i: number) => document.rules[i]?.limits as any

describe("editing YAML", () => {
  it("returns the text unchanged if nothing changes", () => {
    expect(edit(yaml, () => {})).toBe(yaml)
  })

  it("changes one number in place and keeps the comment after it", () => {
    const edited = edit(yaml, (document) => {
      limits(document, 0)[0].limit = 7
    })
    expect(changes(yaml, edited)).toEqual([
      "-      - limit: 5 # see ticket 12",
      "+      - limit: 7 # see ticket 12",
    ])
  })

  it("touches nothing but the value, however the rest is laid out", () => {
    const odd = `version:   1
rules:
    -   id:   'a'        # aligned
        limits:  [ {limit: 1,window: "1m"} ]   # by hand


    -   id: b
        description: 'it''s'
        limits:  unlimited`
    const edited = edit(odd, (document) => {
      limits(document, 0)[0].limit = 12
      limits(document, 0)[0].window = "2m"
      Object.assign(document.rules[1] ?? {}, { description: "it's: [not] #plain" })
    })
    expect(edited).toBe(
      odd.replace("limit: 1,", "limit: 12,").replace('"1m"', '"2m"').replace("it''s", "it''s: [not] #plain"),
    )
  })

  it("adds a field after the others", () => {
    const edited = edit(yaml, (document) => {
      Object.assign(document.rules[0] ?? {}, { mode: "shadow" })
    })
    expect(changes(yaml, edited)).toEqual(["+    mode: shadow"])
  })

  it("removes a field and nothing else", () => {
    const edited = edit(yaml, (document) => {
      delete document.rules[1]?.description
    })
    expect(changes(yaml, edited)).toEqual(['-    description: "the rest"'])
  })

  it("adds a rule at the place it has in the set", () => {
    const edited = edit(yaml, (document) => {
      document.rules.splice(1, 0, { id: "search", limits: [{ limit: 3, window: "1s" }] })
    })
    expect(changes(yaml, edited)).toEqual(["+  - id: search", "+      - limit: 3", "+        window: 1s"])
  })

  it("removes a rule with the comment above it", () => {
    const edited = edit(yaml, (document) => {
      document.rules.pop()
    })
    expect(changes(yaml, edited)[0]).toBe("-  # Everything else.")
    expect(edited).toContain("# Slow down guessing of passwords.")
    expect(edited).toContain("# The end.")
  })

  it("moves rules with their comments", () => {
    const edited = edit(yaml, (document) => {
      document.rules.reverse()
    })
    const lines = edited.split("\n")
    const above = (id: string) => lines[lines.indexOf(`  - id: ${id}`) - 1]
    expect([above("api"), above("login")]).toEqual([
      "  # Everything else.",
      "  # Slow down guessing of passwords.",
    ])
    expect(changes(yaml, edited)).toEqual([])
  })

  it("removes one client from a list and keeps the comment of the other", () => {
    const edited = edit(yaml, (document) => {
      document.allow = ["ip:10.0.0.0/8", "user:7"]
    })
    expect(changes(yaml, edited)).toEqual(["-  - user:42", "+  - user:7"])
  })

  it("keeps how far lists are indented", () => {
    const flat = "version: 1\nrules:\n- id: a # first\n  limits:\n  - limit: 1\n    window: 1m\n"
    const edited = edit(flat, (document) => {
      limits(document, 0)[0].limit = 2
    })
    expect(edited).toBe(flat.replace("limit: 1", "limit: 2"))
    const added = edit(flat, (document) => {
      document.rules.push({ id: "b", limits: "unlimited" })
    })
    expect(added).toBe(`${flat}- id: b\n  limits: unlimited\n`)
  })

  it("quotes a text that would be read as something else", () => {
    const edited = edit(yaml, (document) => {
      Object.assign(document.rules[1] ?? {}, { description: "true" })
      document.rules.push({ id: "1e3", description: "# no comment", limits: "unlimited" })
    })
    expect(edited).toContain('"1e3"')
  })

  it("changes only the intended place when two places share an alias", () => {
    const shared = `version: 1
rules:
  - id: a
    limits: &same
      - limit: 1
        window: 1m
  - id: b
    limits: *same
`
    const edited = edit(shared, (document) => {
      document.rules[0] = { id: "a", limits: [{ limit: 2, window: "1m" }] }
    })
    expect(edited).not.toContain("*same")
  })

  it("parses to exactly the new set, for any change", { timeout: 60_000 }, () => {
    const limit = fc.record({
      limit: fc.integer({ min: 1, max: 9 }),
      window: fc.constantFrom("1s", "1m", 500),
    })
    const one = fc.record(
      {
        id: fc.constantFrom("a", "b", "c", "d", "1", "true"),
        description: fc.string(),
        limits: fc.oneof(fc.constant("unlimited" as const), fc.array(limit, { minLength: 1, maxLength: 3 })),
        match: fc.record(
          { path: fc.constantFrom("/a", "/b"), method: fc.constant("GET") },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: ["id", "limits"] },
    )
    const set = fc.record(
      {
        version: fc.constant(1 as const),
        allow: fc.uniqueArray(fc.constantFrom("user:1", "user:2", "user:3")),
        rules: fc.uniqueArray(one, { selector: ({ id }) => id }),
      },
      { requiredKeys: ["version", "rules"] },
    )
    fc.assert(
      fc.property(set, set, fc.boolean(), (before, after, isJson) => {
        const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as RuleSetDocument
        const start = isJson
          ? JSON.stringify(before)
          : editRuleText("version: 1\nrules: []\n", { version: 1, rules: [] }, plain(before))
        expect(parse(start)).toEqual(plain(before))
        expect(parse(editRuleText(start, plain(before), plain(after)))).toEqual(plain(after))
      }),
      { numRuns: 300 },
    )
  })
})

describe("editing JSON", () => {
  const document = { version: 1, rules: [{ limits: [{ window: "1m", limit: 5 }], id: "login" }] }

  it.each([
    ["two spaces", JSON.stringify(document, undefined, 2)],
    ["a tab and a last line feed", `${JSON.stringify(document, undefined, "\t")}\n`],
    ["no space at all", JSON.stringify(document)],
  ])("keeps %s, and the order of fields", (_, text) => {
    const edited = edit(text, (set) => {
      set.rules = [{ id: "login", limits: [{ limit: 6, window: "1m" }] }]
    })
    expect(edited).toBe(text.replace(/(?<="limit": ?)5/, "6"))
  })
})
