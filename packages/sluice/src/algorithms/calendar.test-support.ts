import type { LimitOptions } from "../policy.js"
import { CALENDAR_LENGTHS, type CalendarUnit } from "./calendar.js"

export const UNITS = Object.keys(CALENDAR_LENGTHS) as CalendarUnit[]

/** Zones whose clocks change at noon, at midnight, by half an hour, by a whole day, a minute after midnight, or never. */
export const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/Sao_Paulo",
  "America/Havana",
  "America/St_Johns",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "Africa/Cairo",
] as const

/** The window of a calendar, or now and then a plain one, by a number. */
export function calendarWindow(draw: number): Pick<LimitOptions, "window" | "timeZone"> {
  const unit = UNITS[draw % UNITS.length] as CalendarUnit
  if (draw % 5 === 0) return { window: CALENDAR_LENGTHS[unit] / 1000 }
  return { window: unit, timeZone: ZONES[Math.floor(draw / 7) % ZONES.length] as string }
}
