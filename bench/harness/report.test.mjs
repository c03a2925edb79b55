import { describe, expect, it } from "vitest"
import { withFigures } from "./document.mjs"
import { atLeast, atMost, shown } from "./goals.mjs"
import { markdownTable, textTable } from "./table.mjs"

describe("withFigures", () => {
  const before = "text\n<!-- b: figures, written by the benchmark -->\nold\n<!-- b: end -->\nmore\n"

  it("replaces what is between the markers and nothing else", () => {
    const after = withFigures(before, "b", "new\n")
    expect(after).toBe(before.replace("\nold\n", "\n\nnew\n\n"))
    expect(withFigures(after, "b", "new")).toBe(after)
  })

  it("says which markers are missing", () => {
    expect(() => withFigures("text", "b", "new")).toThrow("<!-- b: end -->")
  })
})

describe("goals", () => {
  it("judges the figure itself, not the rounded one shown", () => {
    expect(atLeast("g", 2.4999, 2.5)).toEqual({ goal: "g", target: "≥ 2.5 ×", measured: "2.5 ×", met: false })
    expect(atMost("g", 48, 48, "bytes").met).toBe(true)
    expect(atMost("g", Number.NaN, 48, "bytes").met).toBe(false)
  })

  it("shows three digits", () => {
    expect([0.12345, 12.345, 123.45, 1_234_567].map(shown)).toEqual(["0.123", "12.3", "123", "1,234,567"])
  })
})

describe("tables", () => {
  const table = { title: "T", head: ["", "ns"], rows: [["sluice", "40"]], note: "N" }

  it("are Markdown for the docs", () => {
    expect(markdownTable(table)).toBe("### T\n\n|  | ns |\n|---|---:|\n| sluice | 40 |\n\nN\n")
  })

  it("are columns for a terminal", () => {
    expect(textTable(table)).toBe("T\n        ns\n──────────\nsluice  40\nN\n")
  })
})
