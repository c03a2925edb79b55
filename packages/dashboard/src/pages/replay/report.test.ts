import { expect, it } from "vitest"
import { columnsOf } from "./report.js"

const candidate = (series: readonly (readonly [at: number, requests: number, denied: number])[]) =>
  ({
    name: "",
    series: series.map(([at, requests, denied]) => ({ at, requests, denied })),
  }) as never

it("puts all candidates on one time axis, with zeros for steps without requests", () => {
  const candidates = [
    candidate([
      [60_000, 5, 1],
      [240_000, 2, 2],
    ]),
    candidate([
      [60_000, 5, 0],
      [240_000, 2, 1],
    ]),
  ]
  expect(columnsOf({ stepMs: 60_000, candidates })).toEqual({
    stepMs: 60_000,
    x: [60, 120, 180, 240],
    requests: [5, 0, 0, 2],
    denied: [
      [1, 0, 0, 2],
      [0, 0, 0, 1],
    ],
  })
})

it("combines the minutes of a long log, and loses none", () => {
  const year = 525_600
  const series = Array.from({ length: year }, (_, i) => [i * 60_000, 1, i % 2] as const)
  const { stepMs, x, requests, denied } = columnsOf({ stepMs: 60_000, candidates: [candidate(series)] })
  expect([stepMs, x.length]).toEqual([2 * 86_400_000, 183])
  expect(requests.reduce((sum, count) => sum + count, 0)).toBe(year)
  expect(denied[0]?.reduce((sum, count) => sum + count, 0)).toBe(year / 2)
})

it("is empty for a log without requests", () => {
  expect(columnsOf({ stepMs: 60_000, candidates: [candidate([])] })).toEqual({
    stepMs: 60_000,
    x: [],
    requests: [],
    denied: [[]],
  })
})

it("combines steps of 15 seconds so that each bar starts at a multiple of its length", () => {
  const at = Date.UTC(2026, 0, 1, 8, 0, 45)
  const series = Array.from({ length: 1_440 }, (_, i) => [at + i * 15_000, 1, 0] as const)
  const { stepMs, x, requests } = columnsOf({ stepMs: 15_000, candidates: [candidate(series)] })
  expect([stepMs, x[0]]).toEqual([120_000, Date.UTC(2026, 0, 1, 8) / 1000])
  // The first bar has a minute and 15 seconds, the others are whole.
  expect([requests[0], requests[1], requests.at(-1)]).toEqual([5, 8, 3])
})

it("makes bars of whole steps of the report", () => {
  const series = Array.from({ length: 1_000 }, (_, i) => [i * 7_000, 1, 0] as const)
  const { stepMs } = columnsOf({ stepMs: 7_000, candidates: [candidate(series)] })
  expect(stepMs).toBe(35_000)
})
