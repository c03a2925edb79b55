// Types of values that several settings share.

import { parseDuration } from "sluice"
import { z } from "zod"

export const text = z.string().min(1)

const port = z.int().min(0).max(65_535).describe("The port to listen on. 0 means any free port.")

/** A Node timer with more milliseconds fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Converts `"10s"` or a number of milliseconds. Undefined if it is neither, or longer than a timer can wait. */
function milliseconds(value: string | number): number | undefined {
  try {
    const ms = parseDuration(value, "")
    return ms <= MAX_TIMER_MS ? ms : undefined
  } catch {
    return undefined
  }
}

export const duration = z
  .union([z.string().meta({ pattern: "^\\s*\\d+(\\.\\d+)?\\s*(ms|s|m|h|d)\\s*$" }), z.number().min(0)])
  .transform((value, context) => {
    const ms = milliseconds(value)
    if (ms !== undefined) return ms
    context.addIssue({ code: "custom", message: 'milliseconds or text like "100ms", "10s", "1m"' })
    return z.NEVER
  })
  .describe('A number with a unit ("100ms", "10s", "1m"), or milliseconds.')

export function address(defaultPort: number) {
  return {
    host: text
      .default("127.0.0.1")
      .describe("The address to listen on. 0.0.0.0 means all addresses of the machine."),
    port: port.default(defaultPort),
  }
}
