// Types of values that several settings share.

import { z } from "zod"
import { milliseconds } from "./duration.js"

export const text = z.string().min(1)

const port = z.int().min(0).max(65_535).meta({ description: "0 takes any free port." })

export const duration = z
  .union([z.string().meta({ pattern: "^\\s*\\d+(\\.\\d+)?\\s*(ms|s|m|h|d)\\s*$" }), z.number().min(0)])
  .transform((value, context) => {
    const ms = milliseconds(value)
    if (ms !== undefined) return ms
    context.addIssue({ code: "custom", message: 'milliseconds or text like "100ms", "10s", "1m"' })
    return z.NEVER
  })
  .meta({ description: 'A number with a unit ("100ms", "10s", "1m"), or milliseconds.' })

export function address(defaultPort: number) {
  return {
    host: text
      .default("127.0.0.1")
      .meta({ description: "Only this machine by default; 0.0.0.0 for everybody." }),
    port: port.default(defaultPort),
  }
}
