// Windows of the calendar: hours, days, weeks and months of the wall clock in a time zone.
//
// A day, week or month begins when the wall clock first shows its first midnight. If daylight saving skips that midnight, it begins
// at the next instant that exists. So a day may have 23 or 25 hours, and a day that a zone skipped has no window. An hour begins
// whenever the wall clock shows a full hour, also when it shows the same one again.

import { floorTo } from "./exact.js"

export type CalendarUnit = "hour" | "day" | "week" | "month"

const HOUR = 3_600_000
const DAY = 24 * HOUR
const WEEK = 7 * DAY
/** From Thursday, 1 January 1970, to the first Monday. */
const FIRST_MONDAY = 4 * DAY

/** The usual length of each window in microseconds. A month counts as 31 days. */
export const CALENDAR_LENGTHS: Readonly<Record<CalendarUnit, number>> = {
  hour: HOUR * 1000,
  day: DAY * 1000,
  week: WEEK * 1000,
  month: 31 * DAY * 1000,
}

/** How many windows before and after the current one a page of boundaries has. */
const BEFORE = 1
const AFTER = 2

/** A calendar without the private parts of its class: TypeScript then accepts a policy of another copy of the library. */
export interface Calendar extends Pick<IntlCalendar, keyof IntlCalendar> {}

/**
 * Finds the window that contains a time. It asks `Intl` once per window and remembers the answer: the next check in the same
 * window only compares.
 */
export class IntlCalendar {
  readonly unit: CalendarUnit
  readonly timeZone: string
  /** The window that `find` found last, in microseconds. */
  start = 0
  end = 0
  readonly #format: Intl.DateTimeFormat | undefined
  #found: readonly number[] = []
  #sent: readonly number[] = []

  /** Throws a RangeError if the runtime does not know the time zone. */
  constructor(unit: CalendarUnit, timeZone: string) {
    this.unit = unit
    this.timeZone = timeZone
    if (timeZone !== "UTC") {
      this.#format = new Intl.DateTimeFormat("en-US", {
        timeZone,
        hourCycle: "h23",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
      })
    }
  }

  /** Sets `start` and `end` to the window that contains a time in microseconds. */
  find(time: number): void {
    if (time >= this.start && time < this.end) return
    let page = this.#found
    if (!(time >= (page[0] as number) && time < (page.at(-1) as number))) {
      page = this.#page(time)
      this.#found = page
    }
    const next = page.findIndex((boundary) => boundary > time)
    this.start = page[next - 1] as number
    this.end = page[next] as number
  }

  /**
   * The boundaries of the window that contains a time, of the window before it and of two after it, in microseconds. Returns the
   * same array as long as the time is in the same window.
   */
  around(time: number): readonly number[] {
    const page = this.#sent
    if (!(time >= (page[BEFORE] as number) && time < (page[BEFORE + 1] as number)))
      this.#sent = this.#page(time)
    return this.#sent
  }

  #page(time: number): readonly number[] {
    const ms = Math.floor(time / 1000)
    const boundaries: number[] = []
    let after = 0
    for (const boundary of this.unit === "hour" ? this.#hours(ms) : this.#dates(ms)) {
      // A day that was skipped begins and ends at the same instant.
      if (boundary === boundaries.at(-1)) continue
      boundaries.push(boundary)
      if (boundary > ms && ++after > AFTER) break
    }
    // Times before 1970 do not occur, and states hold no negative numbers.
    return boundaries.slice(-(BEFORE + AFTER + 2)).map((boundary) => Math.max(0, boundary * 1000))
  }

  /** The starts of days, weeks or months from at least two before a time on. */
  *#dates(ms: number): Iterable<number> {
    let date = this.#dateOf(ms + this.#offsetAt(ms))
    for (let i = 0; i < 3; i++) date = this.#dateOf(date - 1)
    for (;;) {
      yield this.#instantOf(date)
      date = this.#dateAfter(date)
    }
  }

  /** The first midnight of the day, week or month of a wall clock, both as if the wall clock were UTC. */
  #dateOf(local: number): number {
    if (this.unit === "day") return floorTo(local, DAY)
    if (this.unit === "week") return floorTo(local - FIRST_MONDAY, WEEK) + FIRST_MONDAY
    const date = new Date(local)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  }

  #dateAfter(date: number): number {
    if (this.unit === "day") return date + DAY
    if (this.unit === "week") return date + WEEK
    return this.#dateOf(date + 31 * DAY)
  }

  /** When the wall clock first shows a date or a later one. */
  #instantOf(date: number): number {
    const [from, to] = [date - DAY, date + DAY]
    const [before, after] = [this.#offsetAt(from), this.#offsetAt(to)]
    if (before === after) return date - before
    const change = this.#changeBetween(from, to)
    return date - before < change ? date - before : Math.max(change, date - after)
  }

  /** The full hours of the wall clock from two hours before a time on. */
  *#hours(ms: number): Iterable<number> {
    let at = ms - 3 * HOUR
    for (;;) {
      at = this.#hourAfter(at)
      yield at
    }
  }

  #hourAfter(ms: number): number {
    const offset = this.#offsetAt(ms)
    const hour = floorTo(ms + offset, HOUR) + HOUR
    const later = this.#offsetAt(hour - offset)
    if (later === offset) return hour - offset
    const change = this.#changeBetween(ms, hour - offset)
    // The clock skips the full hour, or shows it or an earlier one after the change.
    if (change + later >= hour) return change
    return -floorTo(-(change + later), HOUR) - later
  }

  /** The first instant with the offset of `to`, which differs from that of `from`. */
  #changeBetween(from: number, to: number): number {
    const offset = this.#offsetAt(from)
    let [before, after] = [from, to]
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2)
      if (this.#offsetAt(middle) === offset) before = middle
      else after = middle
    }
    return after
  }

  /** How far the wall clock is ahead of UTC, in milliseconds. */
  #offsetAt(ms: number): number {
    if (this.#format === undefined) return 0
    const field: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(ms)) field[type] = Number(value)
    const { year = 0, month = 0, day, hour, minute, second } = field
    return Date.UTC(year, month - 1, day, hour, minute, second) - floorTo(ms, 1000)
  }
}
