// Times of a log, to the minute, in the time zone of who reads them.

import { locale } from "../../i18n.js"

const MINUTE = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false } as const

export function minuteOf(at: number): string {
  return new Intl.DateTimeFormat(locale(), MINUTE).format(at)
}

export function period(from: number, to: number): string {
  return new Intl.DateTimeFormat(locale(), MINUTE).formatRange(from, to)
}
