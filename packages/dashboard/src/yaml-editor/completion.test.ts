import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { suggest } from "./completion.js"
import { SchemaReader } from "./schema.js"

const document = JSON.parse(
  readFileSync(new URL("../../../sluice/rules.schema.json", import.meta.url), "utf8"),
)
const rule = new SchemaReader(document, ["rules", 0])
const set = new SchemaReader(document)

function labels(marked: string, schema = rule, hints = () => [] as string[]) {
  const cursor = marked.indexOf("‸")
  return suggest(marked.replace("‸", ""), cursor, schema, hints)?.list.map(({ label }) => label)
}

/** The text after the first suggestion is taken. */
function taken(marked: string, schema = rule) {
  const cursor = marked.indexOf("‸")
  const text = marked.replace("‸", "")
  const found = suggest(text, cursor, schema)
  return text.slice(0, found?.start) + found?.list[0]?.insert + text.slice(found?.end)
}

describe("completion", () => {
  it("offers the fields of a rule, without those that are there", () => {
    expect(labels("id: a\n‸")).toContain("limits")
    expect(labels("id: a\n‸")).not.toContain("id")
    expect(labels("id: a\nm‸")).toEqual(["mode", "match", "onMissingKey", "limits"])
  })

  it("offers the words that a field takes", () => {
    expect(labels("mode: ‸")).toEqual(["enforce", "shadow", "off"])
    expect(labels("limits: [{ algorithm: sliding‸ }]")).toEqual([
      "sliding-window-log",
      "sliding-window-counter",
    ])
    expect(labels("limits: unl‸")).toEqual(["unlimited"])
    expect(labels("tiers:\n  pro: unl‸")).toEqual(["unlimited"])
  })

  it("goes through references, lists and names that are free to choose", () => {
    expect(labels("limits:\n  - ‸")).toContain("algorithm")
    expect(labels("tiers:\n  pro:\n    limits:\n      - lim‸")).toEqual(["limit"])
    expect(labels("rules:\n  - id: a\n    match:\n      pa‸", set)).toEqual(["path"])
    expect(labels("version: 1\nde‸", set)).toEqual(["defaults", "deny", "identity", "overrides"])
  })

  it("offers what the page knows besides the schema", () => {
    expect(labels("keyBy: us‸", rule, () => ["ip", "user"])).toEqual(["user"])
  })

  it("says what a field is for", () => {
    const found = suggest("keyB", 4, rule)
    expect(found?.list[0]).toMatchObject({ label: "keyBy", about: "Default: ip.", kind: "field" })
  })

  it("writes a name with what its value begins with", () => {
    expect(taken("mo‸")).toBe("mode: ")
    expect(taken("lim‸")).toBe("limits:\n  - ")
    expect(taken("mat‸")).toBe("match:\n  ")
    expect(taken("limits: [{ lim‸ }]")).toBe("limits: [{ limit:  }]")
    expect(taken("mode:‸")).toBe("mode: enforce")
  })

  it("replaces the whole word it stands in, and leaves its colon alone", () => {
    expect(taken("mo‸de: off")).toBe("mode: off")
    expect(taken("mode: sha‸x")).toBe("mode: shadow")
  })

  it("says nothing where there is nothing to say", () => {
    expect(labels("id: ‸")).toBeUndefined()
    expect(labels("mode: off‸")).toBeUndefined()
    expect(labels("# mo‸")).toBeUndefined()
    expect(labels("nonsense:\n  ‸")).toBeUndefined()
  })
})
