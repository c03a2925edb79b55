import { type ErrorCode, SluiceError } from "./errors.js"

/** Milliseconds, or a number with a unit: `"100ms"`, `"10s"`, `"1m"`, `"2h"`, `"1d"`. */
export type Duration = number | string

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses a duration into milliseconds. Fractions down to a microsecond count. */
export function parseDuration(
  duration: unknown,
  place: string,
  code: ErrorCode = "DURATION_INVALID",
): number {
  const ms = typeof duration === "string" ? fromText(duration) : duration
  if (typeof ms !== "number" || !Number.isFinite(ms) || ms < 0) {
    throw new SluiceError(code, {
      place,
      expected: 'must be milliseconds or text like "100ms", "10s", "1m", "2h", "1d"',
      found: duration,
    })
  }
  return ms
}

function fromText(text: string): number | undefined {
  const parts = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim())
  if (parts === null) return undefined
  return Number(parts[1]) * (UNITS[parts[2] as string] as number)
}

/** The shortest exact text for a duration: 90000 → "90s". */
export function formatDuration(ms: number): string {
  for (const unit of ["d", "h", "m", "s"]) {
    const size = UNITS[unit] as number
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`
  }
  return `${ms}ms`
}
