import { expect, it } from "vitest"
import { addedUp, chartData, isolatedPoints } from "./chart-data.js"
import { sparklinePath } from "./sparkline.js"

const series = [
  { label: "denied", colour: "--denied" as const, values: [1, 0, null] },
  { label: "allowed", colour: "--allowed" as const, values: [2, 5, 3] },
]

it("sums stacked values up, and counts a gap as zero", () => {
  expect(
    addedUp([
      [1, null, 3],
      [10, 20, null],
    ]),
  ).toEqual([
    [1, null, 3],
    [11, 20, 3],
  ])
})

it("draws stacked series from the highest to the lowest", () => {
  expect(chartData([0, 1, 2], { series, stacked: true })).toEqual([
    [0, 1, 2],
    [3, 5, 3],
    [1, 0, null],
  ])
})

it("draws other series unchanged, with their gaps", () => {
  expect(chartData([0, 1, 2], { series, stacked: false })).toEqual([
    [0, 1, 2],
    [1, 0, null],
    [2, 5, 3],
  ])
})

it("finds the values between gaps, which need a point", () => {
  expect(isolatedPoints([null, 3, null, 4, 5, null, 6])).toEqual([1, 6])
  expect(isolatedPoints([1, 2, null])).toBeNull()
})

it("scales a sparkline from zero to its highest value", () => {
  expect(sparklinePath([0, 4, 2])).toBe("M0.0 23.0L50.0 1.0L100.0 12.0")
  expect(sparklinePath([0, 0])).toBe("M0.0 23.0L100.0 23.0")
  expect(sparklinePath([])).toBe("")
})

it("leaves a gap in a sparkline where a value is not known", () => {
  expect(sparklinePath([0, null, 0, 0])).toBe("M0.0 23.0M66.7 23.0L100.0 23.0")
  expect(sparklinePath([null, null])).toBe("")
})
