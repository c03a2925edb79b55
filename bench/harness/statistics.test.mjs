import { describe, expect, it } from "vitest"
import { rotated } from "./rounds.mjs"
import { mean, median, percentile, spread, standardError } from "./statistics.mjs"

describe("median", () => {
  it("is the middle value, whatever the order", () => expect(median([30, 1, 2])).toBe(2))
  it("is the mean of the two in the middle of an even number", () => expect(median([4, 1, 2, 100])).toBe(3))
  it("refuses nothing", () => expect(() => median([])).toThrow(RangeError))
})

describe("mean", () => {
  it("is the sum over the count", () => expect(mean([1, 2, 6])).toBe(3))
  it("refuses nothing", () => expect(() => mean([])).toThrow(RangeError))
})

describe("standardError", () => {
  it("gets smaller with the root of the count", () => {
    expect(standardError([1, 3])).toBeCloseTo(1)
    expect(standardError([1, 3, 1, 3, 1, 3, 1, 3, 1, 3])).toBeCloseTo(1 / 3)
  })
  it("is not a number for a single value", () => expect(standardError([7])).toBeNaN())
})

describe("spread", () => {
  it("is half the distance between the quartiles as a share of the median", () => {
    expect(spread([8, 9, 10, 11, 12])).toBeCloseTo(0.1)
  })
  it("does not notice one round that went wrong", () => {
    expect(spread([10, 10, 10, 10, 1_000])).toBe(0)
  })
})

describe("percentile", () => {
  it("is a value that was measured, not one in between", () => {
    const values = Array.from({ length: 200 }, (_, i) => 200 - i)
    expect([0, 0.5, 0.99, 1].map((share) => percentile(values, share))).toEqual([1, 100, 198, 200])
  })
})

describe("rotated", () => {
  it("lets everyone go first once", () => {
    expect([0, 1, 2].map((turn) => rotated(3, turn))).toEqual([
      [0, 1, 2],
      [1, 2, 0],
      [2, 0, 1],
    ])
  })
})
