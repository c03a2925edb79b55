import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { SluiceError } from "../../errors.js"
import { checkFields } from "../../options.js"

/** Bounds that an administrator sets on rules. A rule set outside of them is refused, and the problem names the bound. */
export interface GuardRails {
  /** Default: 10,000. */
  maxRules?: number
  /** In one list of limits. Default: 10. */
  maxLimits?: number
  /** Default: `"1ms"`. */
  minWindow?: Duration
  /** Default: `"366d"`. */
  maxWindow?: Duration
  /** Default: 1. */
  minLimit?: number
  /** Also for bursts. Default: 1,000,000,000. */
  maxLimit?: number
  /** Clients in all lists, tiers and overrides together. Default: 100,000. */
  maxClients?: number
  /** The size of a rule set as text. Default: 8 MB. */
  maxBytes?: number
}

/** The bounds in numbers. Windows are in milliseconds. */
export type Bounds = Readonly<Record<keyof GuardRails, number>>

const DEFAULTS: Bounds = {
  maxRules: 10_000,
  maxLimits: 10,
  minWindow: 1,
  maxWindow: 366 * 86_400_000,
  minLimit: 1,
  maxLimit: 1e9,
  maxClients: 100_000,
  maxBytes: 8 * 1024 * 1024,
}

export function boundsOf(rails: GuardRails = {}): Bounds {
  checkFields(rails, Object.keys(DEFAULTS), "guardRails")
  const bounds: Record<keyof Bounds, number> = { ...DEFAULTS }
  for (const field of Object.keys(DEFAULTS) as (keyof Bounds)[]) {
    const value = rails[field]
    if (value === undefined) continue
    const place = `guardRails.${field}`
    if (field === "minWindow" || field === "maxWindow") bounds[field] = parseDuration(value, place)
    else if (typeof value === "number" && Number.isInteger(value) && value >= 1) bounds[field] = value
    else throw new SluiceError("OPTION_TYPE", { place, expected: "must be an integer ≥ 1", found: value })
  }
  for (const what of ["Window", "Limit"] as const) {
    if (bounds[`min${what}`] > bounds[`max${what}`]) {
      throw new SluiceError("OPTION_CONFLICT", {
        place: `guardRails.min${what}`,
        expected: `must not be above max${what}`,
        found: rails[`min${what}`],
      })
    }
  }
  return bounds
}
