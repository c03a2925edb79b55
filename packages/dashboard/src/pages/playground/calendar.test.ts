import { expect, it } from "vitest"
import { CALENDAR_UNITS, type CalendarUnit, windowsAt } from "./calendar.js"
import { calendarTerms } from "./setting.js"
import { simulate } from "./simulate.js"
import { arrivalsOf, SHAPES, shapeOf, spanOf } from "./traffic.js"
import { limitOptions, VARIANTS, type Variant } from "./variants.js"

const shown = (unit: CalendarUnit, timeZone: string, time: string) => {
  const { start, boundary, end } = windowsAt(unit, timeZone, Date.parse(time))
  return [start, boundary, end].map((ms) => new Date(ms).toISOString().slice(0, 16))
}

it("finds the window that contains a time, and the next one", () => {
  expect(shown("hour", "UTC", "2026-11-18T10:20Z")).toEqual([
    "2026-11-18T10:00",
    "2026-11-18T11:00",
    "2026-11-18T12:00",
  ])
  expect(shown("week", "UTC", "2026-11-18T10:20Z")).toEqual([
    "2026-11-16T00:00",
    "2026-11-23T00:00",
    "2026-11-30T00:00",
  ])
  // The clock of Berlin changes on 25 October.
  expect(shown("month", "Europe/Berlin", "2026-10-10T00:00Z")).toEqual([
    "2026-09-30T22:00",
    "2026-10-31T23:00",
    "2026-11-30T23:00",
  ])
})

it("begins a window at its boundary", () => {
  expect(shown("day", "UTC", "2026-03-01T00:00Z")[0]).toBe("2026-03-01T00:00")
  expect(shown("day", "UTC", "2026-02-28T23:59Z")[0]).toBe("2026-02-28T00:00")
})

const fixed = VARIANTS[0] as Variant

it("gets twice the limit through on both sides of the boundary of every unit", () => {
  for (const unit of CALENDAR_UNITS) {
    // February and March differ in length, and the clock changes in March.
    const terms = calendarTerms(7, unit, "Europe/Berlin", Date.parse("2026-02-27T12:00Z"))
    const { busiest, admitted } = simulate(
      fixed,
      terms,
      arrivalsOf(shapeOf("boundary", terms), spanOf(terms)),
    )
    expect([unit, busiest.total, admitted]).toEqual([unit, 14, 14])
  }
})

it("allows no more than the limit in each window of the calendar, whatever the shape", () => {
  for (const unit of CALENDAR_UNITS) {
    const terms = calendarTerms(7, unit, "Europe/Berlin", Date.parse("2026-03-28T12:00Z"))
    for (const shape of SHAPES) {
      const arrivals = arrivalsOf(shapeOf(shape, terms), spanOf(terms))
      expect([unit, shape, arrivals.length > 7]).toEqual([unit, shape, true])
      expect(simulate(fixed, terms, arrivals).admitted).toBeLessThanOrEqual(14)
    }
  }
})

it("gives the other algorithms a window of the usual length", () => {
  const log = VARIANTS.find(({ id }) => id === "sliding-window-log") as Variant
  const windows = CALENDAR_UNITS.map(
    (unit) => limitOptions(log, calendarTerms(7, unit, "UTC", Date.now())).window,
  )
  expect(windows).toEqual(["1h", "1d", "7d", "31d"])
})
