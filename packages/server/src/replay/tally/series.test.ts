import { describe, expect, it } from "vitest"
import { Series } from "./series.js"
import { WorstMinutes } from "./worst-minutes.js"

const START = Date.UTC(2026, 4, 17)
const MINUTE = 60_000

describe("a series", () => {
  it("merges steps as the log grows, and loses nothing", () => {
    const series = new Series()
    for (let i = 0; i < 5_000; i++) series.add(START + i * 7_000, i % 2, i % 5 === 0 ? 1 : 0)
    expect(series.stepMs).toBe(MINUTE)
    const { steps } = series
    const sum = (field: "requests" | "denied" | "shadowDenied") =>
      steps.reduce((all, step) => all + step[field], 0)
    expect([sum("requests"), sum("denied"), sum("shadowDenied")]).toEqual([5_000, 2_500, 1_000])
    expect(steps.every(({ at }, i) => at % MINUTE === 0 && at > (steps[i - 1]?.at ?? 0))).toBe(true)
  })

  it("accepts a line from long before", () => {
    const series = new Series()
    series.add(START, 1, 0)
    series.add(START - 400 * 86_400_000, 1, 0)
    expect(series.steps).toHaveLength(2)
  })
})

describe("the worst minutes", () => {
  it("are found among more minutes than are kept, in any order", () => {
    const worst = new WorstMinutes()
    for (let minute = 0; minute < 20_000; minute++) {
      const denials = minute % 1_999 === 7 ? 3 + minute / 10_000 : 1
      for (let i = 0; i < denials; i++) worst.add(START + minute * MINUTE + i * 1_000, 1, 0)
    }
    const expected = Array.from({ length: 11 }, (_, i) => 7 + i * 1_999).filter((minute) => minute < 20_000)
    const found = worst.worst.map(({ at, denied }) => [(at - START) / MINUTE, denied])
    expect(found).toHaveLength(10)
    for (const [minute, denied] of found) {
      expect(expected).toContain(minute)
      expect(denied).toBe(Math.ceil(3 + (minute as number) / 10_000))
    }
  })
})
