// Windows as Envoy names them.

/** By number. The first means that there is no name for a window. */
export const UNITS = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"] as const

export type Unit = (typeof UNITS)[number]

const DAY_MS = 86_400_000
/** A month is 30 days and a year 365, as in envoyproxy/ratelimit. */
const WINDOWS_MS = [0, 1_000, 60_000, 3_600_000, DAY_MS, 30 * DAY_MS, 365 * DAY_MS, 7 * DAY_MS]

/** The window of a unit, by its number. Undefined for a number that is not one. */
export function windowOf(unit: number): number | undefined {
  return unit === 0 ? undefined : WINDOWS_MS[unit]
}

/** The number of the unit that is this long; 0 if there is none. */
export function unitOf(windowMs: number): number {
  const unit = WINDOWS_MS.indexOf(windowMs)
  return unit < 0 ? 0 : unit
}
