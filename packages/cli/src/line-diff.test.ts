import fc from "fast-check"
import { expect, it } from "vitest"
import { lineDiff } from "./line-diff.js"

const text = (before: string, after: string) =>
  lineDiff([...before], [...after])
    .map(({ sign, text }) => `${sign}${text}`)
    .join("")

it("keeps what is in both, and takes away before it adds", () => {
  expect(text("abc", "abc")).toBe(" a b c")
  expect(text("abc", "axc")).toBe(" a-b+x c")
  expect(text("", "ab")).toBe("+a+b")
  expect(text("ab", "")).toBe("-a-b")
  expect(text("abcd", "acd")).toBe(" a-b c d")
})

it("gives both texts back, and is never longer than taking all away and adding all", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 })
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = lineDiff(before, after)
      expect(diff.flatMap(({ sign, text }) => (sign === "+" ? [] : [text]))).toEqual(before)
      expect(diff.flatMap(({ sign, text }) => (sign === "-" ? [] : [text]))).toEqual(after)
      expect(diff.length).toBeLessThanOrEqual(before.length + after.length)
    }),
  )
})
