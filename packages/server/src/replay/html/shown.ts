// Formats numbers and times for people.

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US")
}

export function percent(share: number): string {
  if (!(share > 0)) return "0%"
  return share < 0.001 ? "<0.1%" : `${(share * 100).toFixed(1)}%`
}

/** UTC: `2015-05-17 10:05:03`. */
export function time(ms: number | undefined): string {
  return ms === undefined ? "–" : new Date(ms).toISOString().slice(0, 19).replace("T", " ")
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const

/** A duration in the largest unit that gives a number above one: `15 min`, `3.5 h`. */
export function duration(ms: number): string {
  const [unit, length] = UNITS.find(([, length]) => ms >= length) ?? ["ms", 1]
  return `${Math.round((ms / length) * 10) / 10} ${unit}`
}
