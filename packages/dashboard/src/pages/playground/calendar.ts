// Windows of the calendar in a time zone, as the library computes them.

import { createLimiter } from "sluice"
import { ManualClock } from "sluice/testing"

export const CALENDAR_UNITS = ["hour", "day", "week", "month"] as const
export type CalendarUnit = (typeof CALENDAR_UNITS)[number]

/** The usual length of a window in seconds. The library counts a month as 31 days, too. */
export const USUAL_SECONDS: Readonly<Record<CalendarUnit, number>> = {
  hour: 3_600,
  day: 86_400,
  week: 7 * 86_400,
  month: 31 * 86_400,
}

export const TIME_ZONES: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")]

/** A window of the calendar and the one after it, in milliseconds since 1970. */
export interface TwoWindows {
  readonly unit: CalendarUnit
  readonly timeZone: string
  readonly start: number
  /** The end of the first window and the start of the second. */
  readonly boundary: number
  readonly end: number
}

/** The window that contains a time and the one after it. Throws if the browser does not know the time zone. */
export function windowsAt(unit: CalendarUnit, timeZone: string, time: number): TwoWindows {
  const clock = new ManualClock(0)
  const limiter = createLimiter({ algorithm: "fixed-window", limit: 1, window: unit, timeZone, clock })
  const endAfter = (start: number): number => {
    clock.set(start)
    return limiter.checkSync("client").resetAt
  }
  // A window has an end, but no decision tells its start, so the search begins in an earlier window.
  let start = endAfter(time - 2 * 1000 * USUAL_SECONDS[unit])
  let boundary = endAfter(start)
  while (boundary <= time) [start, boundary] = [boundary, endAfter(boundary)]
  return { unit, timeZone, start, boundary, end: endAfter(boundary) }
}
