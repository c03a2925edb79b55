// Types of values that several settings share.

import { parseDuration } from "sluice"
import { z } from "zod"

export const text = z.string().min(1)

const port = z.int().min(0).max(65_535).describe("The port to listen on. 0 means any free port.")

/** A Node timer with more milliseconds fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Converts `"10s"` or a number of milliseconds. Undefined if it is neither, or longer than `max`. */
function milliseconds(value: string | number, max: number): number | undefined {
  try {
    const ms = parseDuration(value, "")
    return ms <= max ? ms : undefined
  } catch {
    return undefined
  }
}

function durationUpTo(max: number) {
  return z
    .union([z.string().meta({ pattern: "^\\s*\\d+(\\.\\d+)?\\s*(ms|s|m|h|d)\\s*$" }), z.number().min(0)])
    .transform((value, context) => {
      const ms = milliseconds(value, max)
      if (ms !== undefined) return ms
      context.addIssue({ code: "custom", message: 'milliseconds or text like "100ms", "10s", "1m"' })
      return z.NEVER
    })
    .describe('A number with a unit ("100ms", "10s", "1m"), or milliseconds.')
}

/** A time that a timer waits. */
export const duration = durationUpTo(MAX_TIMER_MS)

/** A time to wait that cannot be 0. */
export const wait = duration.refine((ms) => ms > 0, { message: "longer than 0" })

/** A length of time that no timer waits. */
export const span = durationUpTo(Number.MAX_SAFE_INTEGER)

export function address(defaultPort: number) {
  return {
    host: text
      .default("127.0.0.1")
      .describe("The address to listen on. 0.0.0.0 means all addresses of the machine."),
    port: port.default(defaultPort),
  }
}
