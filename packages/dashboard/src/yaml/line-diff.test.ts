import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { diffLines, hunksOf } from "./line-diff.js"

const SIGNS = { same: " ", removed: "-", added: "+" }

function shown(before: string, after: string): string[] {
  return diffLines(before, after).map(({ kind, text }) => SIGNS[kind] + text)
}

describe("a diff of lines", () => {
  it("shows what went and what came in its place", () => {
    expect(shown("a\nb\nc\n", "a\nB\nc\nd\n")).toEqual([" a", "-b", "+B", " c", "+d"])
  })

  it("is nothing but the same for equal texts, and everything for an empty one", () => {
    expect(shown("a\nb", "a\nb")).toEqual([" a", " b"])
    expect(shown("", "a\nb")).toEqual(["+a", "+b"])
    expect(shown("a\nb", "")).toEqual(["-a", "-b"])
  })

  it("numbers the lines of both sides", () => {
    expect(diffLines("a\nb", "b\nc").map(({ before, after }) => [before, after])).toEqual([
      [1, undefined],
      [2, 1],
      [undefined, 2],
    ])
  })

  it("gives both texts back, and is never longer than it has to be", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 14 })
    fc.assert(
      fc.property(text, text, (old, now) => {
        const lines = diffLines(old.join("\n"), now.join("\n"))
        const side = (other: string) => lines.filter(({ kind }) => kind !== other).map((line) => line.text)
        expect([side("added"), side("removed")]).toEqual([old, now])
        expect(lines.filter(({ kind }) => kind === "same")).toHaveLength(longestCommon(old, now))
      }),
      { numRuns: 500 },
    )
  })

  it("is made of large texts with nothing in common in time", () => {
    const many = (name: string) => Array.from({ length: 5_000 }, (_, i) => `${name}${i}`).join("\n")
    const lines = diffLines(many("a"), many("b"))
    expect(lines).toHaveLength(10_000)
  })
})

describe("hunks", () => {
  it("leave out what is far from any change, and join what is near", () => {
    const before = Array.from({ length: 30 }, (_, i) => `line ${i}`)
    const after = before.with(3, "x").with(6, "y").with(25, "z")
    const hunks = hunksOf(diffLines(before.join("\n"), after.join("\n")), 2)
    expect(hunks.map(({ lines }) => lines.map(({ kind, text }) => SIGNS[kind] + text))).toEqual([
      [" line 1", " line 2", "-line 3", "+x", " line 4", " line 5", "-line 6", "+y", " line 7", " line 8"],
      [" line 23", " line 24", "-line 25", "+z", " line 26", " line 27"],
    ])
  })

  it("are none when nothing changed", () => {
    expect(hunksOf(diffLines("a", "a"))).toEqual([])
  })
})

function longestCommon(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0))
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      table[i]![j] =
        a[i - 1] === b[j - 1] ? table[i - 1]![j - 1]! + 1 : Math.max(table[i - 1]![j]!, table[i]![j - 1]!)
    }
  }
  return table[a.length]![b.length]!
}
