// The setting of the playground, and its form in the address of the page.

import { CALENDAR_UNITS, type CalendarUnit, USUAL_SECONDS, windowsAt } from "./calendar.js"
import { MAX_LIMIT, SHAPES, type ShapeName, SLOTS, shapeOf, type Terms, WINDOWS } from "./traffic.js"

export interface Setting {
  readonly shape: ShapeName | "drawn"
  readonly terms: Terms
  readonly counts: readonly number[]
}

const USUAL: Terms = { limit: 10, windowSeconds: 10 }
/** The library computes no windows before 1970. */
const EARLIEST = Date.UTC(1971, 0, 1)
/** Time zones that far ahead are a guess. */
const LATEST = Date.UTC(2100, 0, 1)

/** Changes the limit or window. A predefined shape scales with it, a drawing stays. */
export function withTerms(setting: Setting, terms: Terms): Setting {
  const { shape, counts } = setting
  return { shape, terms, counts: shape === "drawn" ? counts : shapeOf(shape, terms) }
}

export function withShape({ terms }: Setting, shape: ShapeName): Setting {
  return { shape, terms, counts: shapeOf(shape, terms) }
}

/** The limit with a window of the calendar that contains a time, and the window after it. */
export function calendarTerms(limit: number, unit: CalendarUnit, timeZone: string, time: number): Terms {
  return { limit, windowSeconds: USUAL_SECONDS[unit], calendar: windowsAt(unit, timeZone, time) }
}

/** The setting in an address. Invalid parts get their default. */
export function settingFrom(query: URLSearchParams): Setting {
  const terms = termsFrom(query)
  const drawn = unpacked(query.get("drawn") ?? "")
  if (drawn !== undefined) return { shape: "drawn", terms, counts: drawn }
  const shape = SHAPES.find((known) => known === query.get("shape")) ?? "boundary"
  return { shape, terms, counts: shapeOf(shape, terms) }
}

function termsFrom(query: URLSearchParams): Terms {
  const asked = Number(query.get("limit"))
  const limit = isLimit(asked) ? asked : USUAL.limit
  const unit = CALENDAR_UNITS.find((known) => known === query.get("window"))
  if (unit !== undefined) {
    const time = Date.parse(query.get("at") ?? "")
    const at = time >= EARLIEST && time < LATEST ? time : Date.now()
    try {
      return calendarTerms(limit, unit, query.get("timeZone") ?? "UTC", at)
    } catch {
      return calendarTerms(limit, unit, "UTC", at)
    }
  }
  const windowSeconds = Number(query.get("window"))
  return { limit, windowSeconds: WINDOWS.find((known) => known === windowSeconds) ?? USUAL.windowSeconds }
}

export function addressOf({ shape, terms, counts }: Setting): Record<string, string> {
  const { limit, windowSeconds, calendar } = terms
  const shown = shape === "drawn" ? { drawn: packed(counts) } : { shape }
  if (calendar === undefined) return { ...shown, limit: String(limit), window: String(windowSeconds) }
  const { unit, timeZone, start } = calendar
  return { ...shown, limit: String(limit), window: unit, timeZone, at: new Date(start).toISOString() }
}

export function isLimit(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MAX_LIMIT
}

/** Run-length encoding: `0x40.10.3x2` is 40 zeros, a ten and two threes. */
function packed(counts: readonly number[]): string {
  const runs: [number, number][] = []
  for (const count of counts) {
    const last = runs.at(-1)
    if (last?.[0] === count) last[1]++
    else runs.push([count, 1])
  }
  return runs.map(([count, times]) => (times === 1 ? `${count}` : `${count}x${times}`)).join(".")
}

function unpacked(text: string): number[] | undefined {
  const counts: number[] = []
  for (const run of text.split(".")) {
    const [, count, times = "1"] = /^(\d{1,3})(?:x(\d{1,3}))?$/.exec(run) ?? []
    if (count === undefined || counts.length + Number(times) > SLOTS) return undefined
    counts.push(...new Array<number>(Number(times)).fill(Number(count)))
  }
  return counts.length === SLOTS ? counts : undefined
}
