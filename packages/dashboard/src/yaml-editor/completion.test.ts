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

/** The text after the first suggestion was accepted. */
function taken(marked: string, schema = rule) {
  const cursor = marked.indexOf("‸")
  const text = marked.replace("‸", "")
  const found = suggest(text, cursor, schema)
  return text.slice(0, found?.start) + found?.list[0]?.insert + text.slice(found?.end)
}

describe("completion", () => {
  it("suggests the fields of a rule that it does not have yet", () => {
    expect(labels("id: a\n‸")).toContain("limits")
    expect(labels("id: a\n‸")).not.toContain("id")
    expect(labels("id: a\nm‸")).toEqual(["mode", "match", "onMissingKey", "limits"])
  })

  it("suggests the constants of a field", () => {
    expect(labels("mode: ‸")).toEqual(["enforce", "shadow", "off"])
    expect(labels("limits: [{ algorithm: sliding‸ }]")).toEqual([
      "sliding-window-log",
      "sliding-window-counter",
    ])
    expect(labels("limits: unl‸")).toEqual(["unlimited"])
    expect(labels("tiers:\n  pro: unl‸")).toEqual(["unlimited"])
  })

  it("resolves references, lists and maps with free names", () => {
    expect(labels("limits:\n  - ‸")).toContain("algorithm")
    expect(labels("tiers:\n  pro:\n    limits:\n      - lim‸")).toEqual(["limit"])
    expect(labels("rules:\n  - id: a\n    match:\n      pa‸", set)).toEqual(["path"])
    expect(labels("version: 1\nde‸", set)).toEqual(["defaults", "deny", "identity", "overrides"])
  })

  it("suggests the hints of the page", () => {
    expect(labels("keyBy: us‸", rule, () => ["ip", "user"])).toEqual(["user"])
  })

  it("describes a field", () => {
    const found = suggest("keyB", 4, rule)
    expect(found?.list[0]).toMatchObject({ label: "keyBy", about: "Default: ip.", kind: "field" })
  })

  it("inserts a field name with the start of its value", () => {
    expect(taken("mo‸")).toBe("mode: ")
    expect(taken("lim‸")).toBe("limits:\n  - ")
    expect(taken("mat‸")).toBe("match:\n  ")
    expect(taken("limits: [{ lim‸ }]")).toBe("limits: [{ limit:  }]")
    expect(taken("mode:‸")).toBe("mode: enforce")
  })

  it("replaces the whole word under the cursor, and keeps its colon", () => {
    expect(taken("mo‸de: off")).toBe("mode: off")
    expect(taken("mode: sha‸x")).toBe("mode: shadow")
  })

  it("suggests nothing where nothing fits", () => {
    expect(labels("id: ‸")).toBeUndefined()
    expect(labels("mode: off‸")).toBeUndefined()
    expect(labels("# mo‸")).toBeUndefined()
    expect(labels("nonsense:\n  ‸")).toBeUndefined()
  })
})
