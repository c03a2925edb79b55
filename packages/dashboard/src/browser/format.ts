// Numbers and times in the language of the page.

import { language, locale } from "./i18n.js"

/** `1.2K`, `0.3`: at most three significant digits. */
export function compact(value: number): string {
  return new Intl.NumberFormat(locale(), {
    notation: "compact",
    maximumFractionDigits: value < 10 ? 1 : 0,
  }).format(value)
}

export function whole(value: number): string {
  return new Intl.NumberFormat(locale(), { maximumFractionDigits: 0 }).format(value)
}

/** `3.2%` */
export function share(part: number, of: number): string {
  const value = of === 0 ? 0 : part / of
  return new Intl.NumberFormat(locale(), {
    style: "percent",
    maximumFractionDigits: value > 0 && value < 0.1 ? 1 : 0,
  }).format(value)
}

/** How long a decision took: `25 µs`, `1.2 ms`. */
export function latency(ms: number): string {
  if (ms === 0) return "–"
  const [value, unit] = ms < 1 ? [ms * 1_000, "µs"] : [ms, "ms"]
  return `${new Intl.NumberFormat(locale(), { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value)} ${unit}`
}

export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB"]
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10))
  return `${compact(value / 1_024 ** power)} ${units[power]}`
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const

/** A duration in its largest unit: `3 hours`. Ages are rounded down, remaining times up. */
export function span(ms: number, rounding: "down" | "up" = "down"): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= size) ?? UNITS[3]
  const value = rounding === "down" ? Math.floor(ms / size) : Math.ceil(ms / size)
  return new Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "long" }).format(value)
}

/** `3 hours ago` */
export function ago(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= size) ?? UNITS[3]
  return new Intl.RelativeTimeFormat(locale(), { numeric: "auto" }).format(-Math.floor(ms / size), unit)
}

export function timeOfDay(ms: number): string {
  return new Date(ms).toLocaleTimeString(locale())
}

const MINUTE = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false } as const

export function minuteOf(at: number): string {
  return new Intl.DateTimeFormat(locale(), MINUTE).format(at)
}

export function period(from: number, to: number): string {
  return new Intl.DateTimeFormat(locale(), MINUTE).formatRange(from, to)
}

const WAIT_UNITS = [
  { ms: 86_400_000, en: "d", zh: "天" },
  { ms: 3_600_000, en: "h", zh: "小时" },
  { ms: 60_000, en: "min", zh: "分" },
  { ms: 1_000, en: "s", zh: "秒" },
] as const

/** A wait in at most two units, rounded up so that the wait is always long enough: `14 min 3 s`, `250 ms`. */
export function waitText(ms: number): string {
  const unitName = (unit: { readonly en: string; readonly zh: string }) => unit[language.value]
  if (ms < 1_000) return `${Math.ceil(ms)} ${unitName({ en: "ms", zh: "毫秒" })}`
  const first = WAIT_UNITS.findIndex((unit) => ms >= unit.ms)
  const [large, small] = [WAIT_UNITS[first], WAIT_UNITS[first + 1]]
  if (large === undefined) return `${ms} ms`
  const step = small ?? large
  const rounded = Math.ceil(ms / step.ms) * step.ms
  // 59 min 59.5 s is rounded up to an hour.
  if (rounded > ms && first > 0 && rounded >= (WAIT_UNITS[first - 1] as { ms: number }).ms)
    return waitText(rounded)
  const rest = small === undefined ? 0 : (rounded % large.ms) / small.ms
  const whole = `${Math.floor(rounded / large.ms)} ${unitName(large)}`
  return rest === 0 || small === undefined ? whole : `${whole} ${rest} ${unitName(small)}`
}
