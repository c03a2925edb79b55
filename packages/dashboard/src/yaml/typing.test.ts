import { describe, expect, it } from "vitest"
import { type Edit, indent, newLine, outdent } from "./typing.js"

type Typing = (text: string, start: number, end: number) => Edit

/** What becomes of a text with a cursor ‸, or a selection between two of them. */
function after(typing: Typing, marked: string): string {
  const start = marked.indexOf("‸")
  const end = marked.lastIndexOf("‸")
  const text = marked.replaceAll("‸", "")
  const edit = typing(text, start, end === start ? start : end - 1)
  const changed = text.slice(0, edit.start) + edit.text + text.slice(edit.end)
  const [from, to] = edit.selection
  return from === to
    ? `${changed.slice(0, from)}‸${changed.slice(from)}`
    : `${changed.slice(0, from)}‸${changed.slice(from, to)}‸${changed.slice(to)}`
}

describe("a new line", () => {
  it("stays in the column of its field, and goes deeper below a name without a value", () => {
    expect(after(newLine, "  id: a‸")).toBe("  id: a\n  ‸")
    expect(after(newLine, "limits:‸")).toBe("limits:\n  ‸")
    expect(after(newLine, "limits: # all‸")).toBe("limits: # all\n  ‸")
    expect(after(newLine, "limits: [‸")).toBe("limits: [\n  ‸")
  })

  it("goes on with the map of a list's item", () => {
    expect(after(newLine, "  - limit: 5‸")).toBe("  - limit: 5\n    ‸")
    expect(after(newLine, "  - match:‸")).toBe("  - match:\n      ‸")
  })

  it("takes the place of what is selected", () => {
    expect(after(newLine, "id: ‸a‸\nb: 1")).toBe("id: \n  ‸\nb: 1")
  })
})

describe("indenting", () => {
  it("goes to the next step, or moves every selected line", () => {
    expect(after(indent, "a‸")).toBe("a ‸")
    expect(after(indent, "‸")).toBe("  ‸")
    expect(after(indent, "a\n‸b\n\nc‸\nd")).toBe("a\n  ‸b\n\n  c‸\nd")
  })

  it("is undone by outdenting, and nothing is taken that is no space", () => {
    expect(after(outdent, "  a‸")).toBe("a‸")
    expect(after(outdent, "a\n‸  b\n c‸\nd")).toBe("a\n‸b\nc‸\nd")
    expect(after(outdent, "ab‸")).toBe("ab‸")
  })
})
