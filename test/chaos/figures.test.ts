import { expect, it } from "vitest"
import { backAfter, latencyOf, quantile, worstWindow } from "./figures.js"
import type { Sample } from "./load.js"

function sample(startedAt: number, degraded?: "local"): Sample {
  return {
    policy: "local",
    key: "k",
    startedAt,
    endedAt: startedAt + 10,
    allowed: true,
    degraded,
    decidedAt: 0,
  }
}

it("finds the fullest window; the end of a window is not part of it", () => {
  expect(worstWindow([], 10)).toBe(0)
  expect(worstWindow([0, 10, 20], 10)).toBe(1)
  expect(worstWindow([20, 9.999, 0, 5], 10)).toBe(3)
  expect(worstWindow([0, 5, 5, 14, 15], 10)).toBe(3)
})

it("subtracts the pauses of the event loop that fall into a latency", () => {
  const pauses = [
    { from: 90, to: 104 },
    { from: 108, to: 200 },
  ]
  expect(latencyOf(sample(100), pauses)).toEqual({ seen: 10, own: 4 })
})

it("finds quantiles among the values themselves", () => {
  expect(quantile([3, 1, 2], 0.5)).toBe(2)
  expect(quantile([3, 1, 2], 1)).toBe(3)
  expect(quantile([], 0.99)).toBeNaN()
})

it("counts as back from the first stretch of 100 checks of which 99 are shared", () => {
  const late = Array.from({ length: 300 }, (_, i) => sample(i, i < 50 || i === 120 ? "local" : undefined))
  // The stretch from 49 on has one degraded check at 49 and one at 120.
  expect(backAfter(late, 0)).toBe(50)
  expect(backAfter(late, 200)).toBe(0)
  expect(backAfter(late.slice(0, 99), 0)).toBeUndefined()
})
