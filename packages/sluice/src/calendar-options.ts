// The options of a limit whose window is one of the calendar.

import type { AlgorithmName, Policy } from "./algorithms/algorithm.js"
import { CALENDAR_LENGTHS, type Calendar, type CalendarUnit, IntlCalendar } from "./algorithms/calendar.js"
import { SluiceError } from "./errors.js"
import { getOrCache } from "./get-or-add.js"
import { checkType, isFilledText } from "./options.js"

/** A calendar as a snapshot stores it. */
export interface SavedCalendar {
  readonly unit: CalendarUnit
  readonly timeZone: string
}

interface CalendarOptions {
  readonly window?: unknown
  readonly timeZone?: string
  readonly anchor?: unknown
}

/** How many calendars are kept for policies with the same unit and time zone. */
const MAX_CALENDARS = 1_024

const calendars = /* @__PURE__ */ new Map<unknown, Calendar>()

/** Policies with the same windows share a calendar, so that it computes each boundary once. */
export function openCalendar({ unit, timeZone }: SavedCalendar, place: string): Calendar {
  return getOrCache(calendars, `${unit} ${timeZone}`, MAX_CALENDARS, () => {
    // Newer runtimes also take offsets such as "+02:00", which know no daylight saving.
    if (/^[A-Za-z]/.test(timeZone)) {
      try {
        return new IntlCalendar(unit, timeZone)
      } catch {}
    }
    const expected = 'must be the IANA name of a time zone that this runtime knows, like "Europe/Berlin"'
    throw new SluiceError("TIME_ZONE_UNKNOWN", { place, expected, found: timeZone })
  })
}

/** Whether a window is one of the calendar. */
export function isCalendarUnit(window: unknown): window is CalendarUnit {
  return typeof window === "string" && Object.hasOwn(CALENDAR_LENGTHS, window)
}

export function saveCalendar({ calendar }: Policy): SavedCalendar | undefined {
  return calendar && { unit: calendar.unit, timeZone: calendar.timeZone }
}

/** Undefined for a window that is a duration. */
export function calendarOf(
  options: CalendarOptions,
  algorithm: AlgorithmName,
  place: string,
): SavedCalendar | undefined {
  const { window, timeZone = "UTC", anchor } = options
  const at = (option: string) => (place === "" ? option : `${place}.${option}`)
  const conflict = (option: string, expected: string, found: unknown) =>
    new SluiceError("OPTION_CONFLICT", { place: at(option), expected, found })
  if (!isCalendarUnit(window)) {
    if (options.timeZone === undefined) return undefined
    throw conflict("timeZone", 'is an option of the windows "hour", "day", "week" and "month" only', window)
  }
  if (algorithm !== "fixed-window")
    throw conflict("window", `"${window}" is a window of fixed-window only`, algorithm)
  if (anchor !== undefined) throw conflict("anchor", `is no option of the window "${window}"`, anchor)
  checkType(timeZone, at("timeZone"), "the name of a time zone", isFilledText)
  const calendar = { unit: window, timeZone }
  openCalendar(calendar, at("timeZone"))
  return calendar
}
