import { describe, expect, it } from "vitest"
import { formatDuration, parseDuration } from "./duration.js"
import { SluiceError } from "./errors.js"

describe("parseDuration", () => {
  it.each([
    ["100ms", 100],
    ["10s", 10_000],
    ["1m", 60_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["1.5s", 1_500],
    ["0.001ms", 0.001],
    ["0s", 0],
    ["10 s", 10_000],
    [" 10s ", 10_000],
    [250, 250],
    [0.5, 0.5],
    [0, 0],
  ])("reads %j as %d ms", (duration, ms) => {
    expect(parseDuration(duration, "window")).toBe(ms)
  })

  it.each([
    ["1 fortnight"],
    ["10"],
    [""],
    ["s"],
    ["-1s"],
    ["1e3ms"],
    ["1,5s"],
    ["10S"],
    ["1m30s"],
    [`${"9".repeat(400)}d`],
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [null],
    [undefined],
    [true],
    [10n],
    [["10s"]],
    [{ seconds: 10 }],
  ])("refuses %o with its place, what was expected and what was found", (duration) => {
    const error = thrownBy(() => parseDuration(duration, "block"))
    expect(error).toMatchObject({
      code: "DURATION_INVALID",
      place: "block",
      expected: 'must be milliseconds or text like "100ms", "10s", "1m", "2h", "1d"',
      found: duration,
    })
  })
})

describe("formatDuration", () => {
  it.each([
    [86_400_000, "1d"],
    [7_200_000, "2h"],
    [90_000, "90s"],
    [90_060_000, "1501m"],
    [1_500, "1500ms"],
    [0.5, "0.5ms"],
    [0, "0ms"],
  ])("writes %d ms as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
    expect(parseDuration(text, "text")).toBe(ms)
  })
})

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(SluiceError)
    return error
  }
  throw new Error("nothing was thrown")
}
