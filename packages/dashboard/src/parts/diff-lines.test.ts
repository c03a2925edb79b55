import { describe, expect, it } from "vitest"
import { type DiffLine, diffLines } from "./diff-lines.js"

const SIGNS = { same: " ", removed: "-", added: "+" }
const signed = ({ kind, text }: DiffLine) => SIGNS[kind] + text

describe("diffLines", () => {
  it("shows removed, added and unchanged lines in order", () => {
    expect(diffLines("a\nb\nc\n", "a\nB\nc\nd\n").map((hunk) => hunk.map(signed))).toEqual([
      [" a", "-b", "+B", " c", "+d"],
    ])
  })

  it("is empty for equal texts and ignores a missing line end after the last line", () => {
    expect(diffLines("a\nb", "a\nb")).toEqual([])
    expect(diffLines("a\nb\n", "a\nb")).toEqual([])
  })

  it("shows every line if one text is empty", () => {
    expect(diffLines("", "a\nb\n")[0]?.map(signed)).toEqual(["+a", "+b"])
    expect(diffLines("a\nb", "")[0]?.map(signed)).toEqual(["-a", "-b"])
  })

  it("numbers the lines of both texts", () => {
    expect(diffLines("a\nb", "b\nc")[0]?.map(({ before, after }) => [before, after])).toEqual([
      [1, undefined],
      [2, 1],
      [undefined, 2],
    ])
    expect(diffLines("", "a\nb")[0]?.map(({ after }) => after)).toEqual([1, 2])
  })

  it("leaves out lines that are far from any change and joins changes that are near", () => {
    const before = Array.from({ length: 30 }, (_, i) => `line ${i}`)
    const after = before.with(3, "x").with(6, "y").with(25, "z")
    expect(diffLines(before.join("\n"), after.join("\n"), 2).map((hunk) => hunk.map(signed))).toEqual([
      [" line 1", " line 2", "-line 3", "+x", " line 4", " line 5", "-line 6", "+y", " line 7", " line 8"],
      [" line 23", " line 24", "-line 25", "+z", " line 26", " line 27"],
    ])
  })

  it("shows large texts with nothing in common whole, without a long search", () => {
    const many = (name: string) => Array.from({ length: 5_000 }, (_, i) => `${name}${i}`).join("\n")
    const hunks = diffLines(many("a"), many("b"))
    expect(hunks.map(({ length }) => length)).toEqual([10_000])
    expect(hunks[0]?.at(-1)).toEqual({ kind: "added", text: "b4999", before: undefined, after: 5_000 })
  })
})
