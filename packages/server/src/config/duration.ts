import { parseDuration } from "sluice"

/** A Node timer with more milliseconds fires at once. */
const LONGEST = 2 ** 31 - 1

/** Reads `"10s"` or a number of milliseconds. Undefined if it is neither, or longer than a timer can wait. */
export function milliseconds(value: string | number): number | undefined {
  try {
    const ms = parseDuration(value, "")
    return ms <= LONGEST ? ms : undefined
  } catch {
    return undefined
  }
}
