import { describe, expect, it } from "vitest"
import { PairTable } from "./pair-table.js"
import { NONE } from "./text-table.js"

describe("a table of pairs", () => {
  it("finds every pair, and neither its mirror image nor any other", () => {
    const pairs = Array.from({ length: 5_000 }, (_, i) => [i % 100, 200 + Math.floor(i / 100), i] as const)
    const table = new PairTable(pairs)
    expect(pairs.map(([a, b]) => table.find(a, b))).toEqual(pairs.map(([, , value]) => value))
    expect(pairs.map(([a, b]) => table.find(b, a))).toEqual(pairs.map(() => NONE))
    expect(table.find(0, 0)).toBe(NONE)
  })

  it("finds nothing when it is empty", () => {
    expect(new PairTable([]).find(0, 0)).toBe(NONE)
  })
})
