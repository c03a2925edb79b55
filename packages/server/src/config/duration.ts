const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Timers of more milliseconds than this fire at once. */
const LONGEST = 2 ** 31 - 1

/** `"10s"` or a number as milliseconds; undefined when it is neither, or longer than a timer can wait. */
export function milliseconds(value: string | number): number | undefined {
  const parts = typeof value === "string" ? /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(value) : undefined
  const ms = typeof value === "number" ? value : Number(parts?.[1]) * (UNITS[parts?.[2] ?? ""] ?? Number.NaN)
  return ms >= 0 && ms <= LONGEST ? ms : undefined
}
