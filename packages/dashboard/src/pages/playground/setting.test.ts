import { expect, it } from "vitest"
import { addressOf, settingFrom, withShape, withTerms } from "./setting.js"
import { SLOTS, shapeOf } from "./traffic.js"

const settingOf = (query: string) => settingFrom(new URLSearchParams(query))

it("shows the boundary burst if the address has no setting", () => {
  const { shape, terms, counts } = settingOf("")
  expect([shape, terms]).toEqual(["boundary", { limit: 10, windowSeconds: 10 }])
  expect(counts).toEqual(shapeOf("boundary", terms))
})

it("restores a setting from its address, also a drawing", () => {
  const drawn = new Array<number>(SLOTS).fill(0).with(7, 3).with(8, 3).with(119, 12)
  const settings = [
    withShape(settingOf("limit=7&window=30"), "waves"),
    { ...settingOf("limit=100&window=5"), shape: "drawn" as const, counts: drawn },
  ]
  for (const setting of settings) {
    expect(settingFrom(new URLSearchParams(addressOf(setting)))).toEqual(setting)
  }
})

it("uses the default for invalid parts of an address", () => {
  for (const query of [
    "limit=0&window=7",
    "limit=101",
    "limit=1.5&shape=x",
    "drawn=1x119",
    "drawn=1x500",
    "drawn=-1x120",
  ]) {
    expect([query, settingOf(query)]).toEqual([query, settingOf("")])
  }
})

it("restores windows of the calendar, and takes UTC for an unknown time zone", () => {
  const at = "at=2026-03-28T12:00:00Z"
  const setting = settingOf(`window=day&timeZone=Europe/Berlin&${at}`)
  expect(setting.terms).toEqual({
    limit: 10,
    windowSeconds: 86_400,
    calendar: {
      unit: "day",
      timeZone: "Europe/Berlin",
      start: Date.parse("2026-03-28T00:00+01:00"),
      boundary: Date.parse("2026-03-29T00:00+01:00"),
      end: Date.parse("2026-03-30T00:00+02:00"),
    },
  })
  expect(settingFrom(new URLSearchParams(addressOf(setting)))).toEqual(setting)
  expect(settingOf(`window=day&timeZone=Mars&${at}`)).toEqual(settingOf(`window=day&${at}`))
})

it("takes the present for a time that no calendar window is computed for", () => {
  for (const at of ["1969-01-01", "+275760-09-13", "never"]) {
    const { calendar } = settingOf(`window=month&at=${encodeURIComponent(at)}`).terms
    expect([at, calendar?.end]).toEqual([at, settingOf("window=month").terms.calendar?.end])
  }
})

it("scales a shape with the limit, and keeps a drawing", () => {
  const boundary = withTerms(settingOf(""), { limit: 20, windowSeconds: 10 })
  expect(Math.max(...boundary.counts)).toBe(20)
  const drawn = { ...settingOf(""), shape: "drawn" as const, counts: new Array<number>(SLOTS).fill(2) }
  expect(withTerms(drawn, { limit: 20, windowSeconds: 10 }).counts).toBe(drawn.counts)
})
