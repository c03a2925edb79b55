import { parseDuration } from "sluice"

/** Timers of more milliseconds than this fire at once. */
const LONGEST = 2 ** 31 - 1

/** `"10s"` or a number as milliseconds; undefined when it is neither, or longer than a timer can wait. */
export function milliseconds(value: string | number): number | undefined {
  try {
    const ms = parseDuration(value, "")
    return ms <= LONGEST ? ms : undefined
  } catch {
    return undefined
  }
}
