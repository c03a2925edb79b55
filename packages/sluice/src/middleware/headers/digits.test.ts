import fc from "fast-check"
import { expect, it } from "vitest"
import { digitsOf } from "./digits.js"

it("writes numbers as the language does", () => {
  const edges = [0, 9, 10, 99, 100, 999, 1_000, 1_001, 9_999, 99_999, 100_000, 999_999, 1_000_000, 1_000_001]
  const large = [1_000_999, 1_999_000, 999_999_999, 1_000_000_000, 1_000_000_001, 999_999_999_999_999]
  for (const value of [...edges, ...large]) expect(digitsOf(value)).toBe(String(value))
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_000_000_000 }), (value) => digitsOf(value) === String(value)),
    { numRuns: 5_000 },
  )
})
