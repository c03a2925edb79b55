import { describe, expect, it } from "vitest"
import { rotated } from "./rounds.mjs"
import { median, percentile, spread } from "./statistics.mjs"

describe("median", () => {
  it("is the middle value, whatever the order", () => expect(median([30, 1, 2])).toBe(2))
  it("is the mean of the two in the middle of an even number", () => expect(median([4, 1, 2, 100])).toBe(3))
  it("refuses nothing", () => expect(() => median([])).toThrow(RangeError))
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
