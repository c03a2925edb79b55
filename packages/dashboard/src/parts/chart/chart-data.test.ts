import { expect, it } from "vitest"
import { addedUp, chartData } from "./chart-data.js"
import { sparklinePath } from "./sparkline.js"

const series = [
  { label: "denied", colour: "--denied" as const, values: [1, 0, null] },
  { label: "allowed", colour: "--allowed" as const, values: [2, 5, 3] },
]

it("adds stacked values up, and takes a gap for nothing", () => {
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

it("draws what is stacked from the highest down, so that each covers what is below it", () => {
  expect(chartData([0, 1, 2], { series, stacked: true })).toEqual([
    [0, 1, 2],
    [3, 5, 3],
    [1, 0, null],
  ])
})

it("draws what is not stacked as it is, gaps too", () => {
  expect(chartData([0, 1, 2], { series, stacked: false })).toEqual([
    [0, 1, 2],
    [1, 0, null],
    [2, 5, 3],
  ])
})

it("draws a sparkline from zero to its highest value, and a flat one at the bottom", () => {
  expect(sparklinePath([0, 4, 2])).toBe("M0.0 23.0L50.0 1.0L100.0 12.0")
  expect(sparklinePath([0, 0])).toBe("M0.0 23.0L100.0 23.0")
  expect(sparklinePath([])).toBe("")
})

it("leaves a gap in a sparkline where a value is not known", () => {
  expect(sparklinePath([0, null, 0, 0])).toBe("M0.0 23.0M66.7 23.0L100.0 23.0")
  expect(sparklinePath([null, null])).toBe("")
})
