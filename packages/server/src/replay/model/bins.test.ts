import { describe, expect, it } from "vitest"
import { binned } from "./bins.js"

const at = (text: string) => Date.parse(`2026-05-17T${text}Z`)
const step = (text: string, requests: number) => ({ at: at(text), requests, denied: 1, shadowDenied: 0 })

describe("bins of a series", () => {
  it("start at round times, and leave nothing out", () => {
    const series = [step("10:04:50", 2), step("10:05:00", 3), step("11:59:55", 5)]
    const { from, binMs, bins } = binned(series, 5_000, 30)
    expect([from, binMs, bins.length]).toEqual([at("10:00:00"), 300_000, 24])
    expect(bins.map(({ requests }) => requests).filter((requests) => requests > 0)).toEqual([2, 3, 5])
    expect(bins.reduce((sum, { denied }) => sum + denied, 0)).toBe(3)
  })

  it("are at most the requested number, for any span", () => {
    for (const most of [1, 7, 60, 240])
      for (const span of [0, 1, 59, 3_600, 86_400, 40_000_000])
        expect(
          binned(
            [step("10:04:59", 1), { ...step("10:04:59", 1), at: at("10:04:59") + span * 1000 }],
            1_000,
            most,
          ).bins.length,
        ).toBeLessThanOrEqual(most)
  })

  it("are empty for an empty series", () => {
    expect(binned([], 1_000, 10).bins.every(({ requests }) => requests === 0)).toBe(true)
  })
})
