import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type CalendarUnit, IntlCalendar } from "./calendar.js"
import { UNITS, ZONES } from "./calendar.test-support.js"
import { expectProperty, printSeed } from "./replay.test-support.js"

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The start of the window that contains a time, and its length in hours. */
function windowAt(unit: CalendarUnit, timeZone: string, time: string): string {
  const calendar = new IntlCalendar(unit, timeZone)
  calendar.find(Date.parse(time) * 1000)
  const text = new Date(calendar.start / 1000).toISOString().replace(":00.000Z", "Z")
  return `${text} ${(calendar.end - calendar.start) / 1000 / HOUR} h`
}

printSeed()

describe("Calendar", () => {
  it.each<[CalendarUnit, string, string, string, string]>([
    ["day", "UTC", "2026-07-14T12:00Z", "2026-07-14T00:00Z 24 h", "an ordinary day"],
    ["day", "Europe/Berlin", "2026-03-29T12:00Z", "2026-03-28T23:00Z 23 h", "clocks go forward at 2:00"],
    ["day", "Europe/Berlin", "2026-10-25T12:00Z", "2026-10-24T22:00Z 25 h", "clocks go back at 3:00"],
    ["day", "Europe/Berlin", "2026-10-25T23:00Z", "2026-10-25T23:00Z 24 h", "the day after"],
    ["week", "Europe/Berlin", "2026-03-29T12:00Z", "2026-03-22T23:00Z 167 h", "from Monday to Sunday"],
    ["month", "Europe/Berlin", "2026-03-10T12:00Z", "2026-02-28T23:00Z 743 h", "31 days less an hour"],
    ["month", "UTC", "2024-02-10T12:00Z", "2024-02-01T00:00Z 696 h", "February of a leap year"],
    ["month", "UTC", "2026-12-31T23:59Z", "2026-12-01T00:00Z 744 h", "the last month of a year"],
    ["day", "America/New_York", "2026-03-08T12:00Z", "2026-03-08T05:00Z 23 h", "clocks go forward"],
    ["day", "America/New_York", "2026-11-01T12:00Z", "2026-11-01T04:00Z 25 h", "clocks go back"],
    ["hour", "America/New_York", "2026-11-01T05:30Z", "2026-11-01T05:00Z 1 h", "1:30 for the first time"],
    ["hour", "America/New_York", "2026-11-01T06:30Z", "2026-11-01T06:00Z 1 h", "1:30 once more"],
    ["day", "America/Sao_Paulo", "2018-11-04T12:00Z", "2018-11-04T03:00Z 23 h", "midnight does not exist"],
    ["day", "America/Sao_Paulo", "2018-02-17T12:00Z", "2018-02-17T02:00Z 25 h", "23:00 comes twice"],
    ["month", "America/Sao_Paulo", "2026-06-10T12:00Z", "2026-06-01T03:00Z 720 h", "no daylight saving now"],
    ["day", "Africa/Cairo", "2023-04-28T12:00Z", "2023-04-27T22:00Z 23 h", "midnight does not exist"],
    ["day", "Africa/Cairo", "2023-10-26T12:00Z", "2023-10-25T21:00Z 25 h", "23:00 comes twice"],
    ["day", "America/Havana", "2023-11-05T12:00Z", "2023-11-05T04:00Z 25 h", "midnight comes twice"],
    ["day", "America/St_Johns", "2010-11-07T03:00Z", "2010-11-07T02:30Z 25 h", "00:01 becomes 23:01"],
    ["day", "Asia/Kathmandu", "2026-07-14T18:15Z", "2026-07-14T18:15Z 24 h", "5:45 ahead of UTC"],
    ["hour", "Asia/Kathmandu", "2026-07-14T12:30Z", "2026-07-14T12:15Z 1 h", "hours begin at :15 UTC"],
    ["day", "Asia/Kathmandu", "1986-01-01T12:00Z", "1985-12-31T18:30Z 23.75 h", "from 5:30 to 5:45"],
    ["hour", "Australia/Lord_Howe", "2026-04-04T14:45Z", "2026-04-04T14:00Z 1.5 h", "half an hour back"],
    ["hour", "Australia/Lord_Howe", "2026-10-03T15:40Z", "2026-10-03T15:30Z 0.5 h", "2:00 becomes 2:30"],
    ["day", "Australia/Lord_Howe", "2026-10-03T15:40Z", "2026-10-03T13:30Z 23.5 h", "half an hour forward"],
    ["day", "Pacific/Apia", "2011-12-30T09:00Z", "2011-12-29T10:00Z 24 h", "the day before the skipped one"],
    ["day", "Pacific/Apia", "2011-12-30T11:00Z", "2011-12-30T10:00Z 24 h", "30 December did not happen"],
    ["week", "Pacific/Apia", "2011-12-30T11:00Z", "2011-12-26T10:00Z 144 h", "a week of six days"],
    ["day", "Europe/Berlin", "1970-01-01T12:00Z", "1970-01-01T00:00Z 23 h", "nothing is before 1970"],
  ])("%s in %s at %s: from %s (%s)", (unit, zone, time, expected) => {
    expect(windowAt(unit, zone, time)).toBe(expected)
  })

  it("has windows that follow each other without a gap, whatever order they are asked in", () => {
    expectProperty(
      fc.record({ unit: fc.constantFrom(...UNITS), zone: fc.constantFrom(...ZONES), ms: times }),
      150,
      ({ unit, zone, ms }) => {
        const [calendar, other] = [new IntlCalendar(unit, zone), new IntlCalendar(unit, zone)]
        const time = ms * 1000
        calendar.find(time)
        const { start, end } = calendar
        expect(start).toBeLessThanOrEqual(time)
        expect(end).toBeGreaterThan(time)
        expect(calendar.around(time).slice(1, 3)).toEqual([start, end])
        for (const at of [end, start, end - 1, start - 1, time].filter((at) => at >= 0)) {
          other.find(at)
          calendar.find(at)
          expect([calendar.start, calendar.end]).toEqual([other.start, other.end])
          if (at === end) expect(other.start).toBe(end)
          else if (at === start - 1) expect(other.end).toBe(start)
          else expect([other.start, other.end]).toEqual([start, end])
        }
        expect(other.around(time)).toBe(other.around(end - 1))
      },
    )
  })

  it("begins an hour and a day where the wall clock does, minute by minute", () => {
    expectProperty(
      fc.record({
        unit: fc.constantFrom<CalendarUnit>("hour", "day"),
        zone: fc.constantFrom(...ZONES),
        ms: fc.oneof(times, fc.constantFrom(...CHANGES)),
      }),
      40,
      ({ unit, zone, ms }) => {
        const calendar = new IntlCalendar(unit, zone)
        calendar.find(ms * 1000)
        expect([calendar.start, calendar.end]).toEqual(scannedWindow(unit, zone, ms).map((at) => at * 1000))
      },
    )
  })

  it.each<[CalendarUnit, RegExp]>([
    ["week", /^Mon/],
    ["month", /-01$/],
  ])("begins a %s with the first of its days", (unit, first) => {
    expectProperty(fc.record({ zone: fc.constantFrom(...ZONES), ms: times }), 50, ({ zone, ms }) => {
      const calendar = new IntlCalendar(unit, zone)
      const days = new IntlCalendar("day", zone)
      calendar.find(ms * 1000)
      const { start, end } = calendar
      const firsts: number[] = []
      for (let at = start; at < end; at = days.end) {
        days.find(at)
        if (first.test(dateText(zone, days.start / 1000))) firsts.push(days.start)
      }
      // Times before 1970 do not occur, so the first window may begin later.
      expect(firsts).toEqual(start === 0 ? firsts : [start])
      expect(dateText(zone, end / 1000)).toMatch(first)
    })
  })

  it("asks Intl for new boundaries once in a window", () => {
    const calendar = new IntlCalendar("day", "Europe/Berlin")
    let calls = 0
    const { formatToParts } = Intl.DateTimeFormat.prototype
    Intl.DateTimeFormat.prototype.formatToParts = function (...args) {
      calls++
      return formatToParts.apply(this, args)
    }
    try {
      for (let i = 0; i < 1_000; i++) calendar.find((Date.UTC(2026, 6, 14) + i * 1_000) * 1000)
      const first = calls
      expect(first).toBeGreaterThan(0)
      calendar.find(Date.UTC(2026, 6, 15, 12) * 1000)
      calendar.find(Date.UTC(2026, 6, 14, 12) * 1000)
      expect(calls).toBe(first)
    } finally {
      Intl.DateTimeFormat.prototype.formatToParts = formatToParts
    }
  })

  it("throws a RangeError for a zone that the runtime does not know", () => {
    expect(() => new IntlCalendar("day", "Europe/Atlantis")).toThrow(RangeError)
  })
})

const times = fc.integer({ min: 0, max: Date.UTC(2160, 0) })
/** Hours of daylight saving changes in some of the zones. */
const CHANGES = [
  "2026-03-29T01:30Z",
  "2026-10-25T00:30Z",
  "2026-11-01T06:10Z",
  "2018-11-04T02:59Z",
  "2018-11-04T03:00Z",
  "2023-10-26T21:30Z",
  "2010-11-07T02:31Z",
  "2026-04-04T15:10Z",
  "2026-10-03T15:10Z",
  "2011-12-30T10:00Z",
].map((text) => Date.parse(text))

const formats = new Map<string, Intl.DateTimeFormat>()

/** A date of the wall clock, such as `Mon 2026-07-13`. */
function dateText(timeZone: string, ms: number): string {
  const [date] = wallClock(timeZone, ms)
  return `${new Date(date).toUTCString().slice(0, 3)} ${new Date(date).toISOString().slice(0, 10)}`
}

/** The start of the day on the wall clock, as if in UTC, and the minutes since. */
function wallClock(timeZone: string, ms: number): [date: number, minutes: number] {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat("sv", { timeZone, dateStyle: "short", timeStyle: "medium" })
  formats.set(timeZone, format)
  const [date, time] = format.format(ms).split(" ") as [string, string]
  const [hours, minutes] = time.split(":") as [string, string]
  return [Date.parse(`${date}T00:00Z`), Number(hours) * 60 + Number(minutes)]
}

/** Looks at the wall clock every minute before and after a time. Changes of the clock are at whole minutes. */
function scannedWindow(unit: CalendarUnit, zone: string, ms: number): [number, number] {
  const first = Math.floor(ms / 60_000) * 60_000
  // A day counts as begun as soon as the wall clock has shown it, so look back far enough to know what it has shown.
  let latest = wallClock(zone, first - 2 * DAY)[0]
  let last: number | undefined
  let start = 0
  const from = unit === "day" ? first - 2 * DAY : first - 3 * HOUR
  for (let at = from; ; at += 60_000) {
    const [date, minutes] = wallClock(zone, at)
    const shown = date / 60_000 + minutes
    const isBoundary =
      unit === "day"
        ? date > latest
        : last !== undefined && (minutes % 60 === 0 || Math.floor(shown / 60) > Math.floor(last / 60))
    last = shown
    latest = Math.max(latest, date)
    if (!isBoundary) continue
    if (at > ms) return [Math.max(0, start), at]
    start = at
  }
}
