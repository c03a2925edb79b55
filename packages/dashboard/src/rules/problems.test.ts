import { describe, expect, it } from "vitest"
import { marksOf, messageAt, problemsAt, problemsOutside } from "./problems.js"

const problem = (path: string, message: string, line?: number) => ({
  code: "RULE_FIELD_INVALID",
  path,
  message,
  ...(line === undefined ? {} : { line, column: 3 }),
})

const problems = [
  problem("rules[1].limits[0].limit", "must be an integer ≥ 1, got 0", 4),
  problem("rules[1].match.path[1]", 'must begin with "/"', 2),
  problem("overrides[0].rule", "is no rule"),
]

describe("mistakes", () => {
  it("are at their field, also if they are in an item of its list", () => {
    expect(messageAt(problems, ["limits", 0, "limit"])).toBe("must be an integer ≥ 1, got 0")
    expect(messageAt(problems, ["match", "path"])).toBe('must begin with "/"')
    expect(messageAt(problems, ["limits", 1, "limit"])).toBeUndefined()
    expect(messageAt(problems, ["limit"])).toBeUndefined()
  })

  it("are listed below a row with the names of their fields", () => {
    expect(problemsAt(problems, ["limits", 0])).toEqual(["limit must be an integer ≥ 1, got 0"])
    expect(problemsAt([problem("rules[0].limits[1]", "is too much")], ["limits", 1])).toEqual(["is too much"])
    expect(problemsAt(problems, ["limits", 1])).toEqual([])
  })

  it("that no field shows are kept", () => {
    expect(problemsOutside(problems, [["limits"], ["match", "path"]])).toEqual([problems[2]])
  })

  it("have a line in the text, or are notes without a line", () => {
    expect(marksOf(problems)).toEqual({
      marks: [
        { line: 4, column: 3, message: "limits[0].limit must be an integer ≥ 1, got 0" },
        { line: 2, column: 3, message: 'match.path[1] must begin with "/"' },
      ],
      notes: ["overrides[0].rule is no rule"],
    })
    expect(marksOf(problems, true).marks[0]?.message).toContain("rules[1].limits[0].limit")
  })
})
