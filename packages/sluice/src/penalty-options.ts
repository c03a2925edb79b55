// The option `penalty` of a limit: a key that is denied too often is blocked.

import type { Policy } from "./algorithms/algorithm.js"
import { blockPolicy } from "./algorithms/block.js"
import type { Duration } from "./duration.js"
import { parseDuration } from "./duration.js"
import { Mistakes, SluiceError } from "./errors.js"
import { checkFields, checkObject } from "./options.js"

/** Blocks a key that a limit has denied too often. Denials while the key is blocked do not count. */
export interface PenaltyOptions {
  /** So many denials block the key. */
  after: number
  /** Denials count together for this long, from the first of them. */
  within: Duration
  /** How long the first block lasts. */
  block: Duration
  /** Each further block is this many times as long. Default: 1. */
  factor?: number
  /** The longest block. Default: a day, or `block` if that is longer. */
  max?: Duration
  /** How long a key must not be blocked again until its next block is as short as the first. Default: a day. */
  forget?: Duration
}

const FIELDS = ["after", "within", "block", "factor", "max", "forget"]
const DAY_MS = 86_400_000
const MAX_AFTER = 1_000_000
const MAX_FACTOR = 1_000
/** Ten years, as for windows. */
const MAX_MS = 3_652.5 * DAY_MS

/** The policy of the blocks of a limit with a penalty. `place` is where errors say the mistake is. */
export function compilePenalty(options: PenaltyOptions, place: string): Policy {
  checkObject(options, place)
  const mistakes = new Mistakes()
  mistakes.try(() => checkFields(options, FIELDS, place))
  const micros = (field: "within" | "block" | "max" | "forget", otherwise?: number) =>
    mistakes.try(() => microsOf(options[field] ?? otherwise, `${place}.${field}`)) as number
  const after = mistakes.try(() => {
    const { after } = options
    if (Number.isInteger(after) && after >= 1 && after <= MAX_AFTER) return after
    throw invalid(`${place}.after`, `must be an integer from 1 to ${MAX_AFTER}`, after)
  }) as number
  const factor = mistakes.try(() => {
    const { factor = 1 } = options
    if (typeof factor === "number" && factor >= 1 && factor <= MAX_FACTOR) return factor
    throw invalid(`${place}.factor`, `must be a number from 1 to ${MAX_FACTOR}`, factor)
  }) as number
  const within = micros("within")
  const block = micros("block")
  const max = micros("max", Math.max(DAY_MS, block / 1000 || 0))
  const forget = micros("forget", DAY_MS)
  if (max < block) mistakes.add(invalid(`${place}.max`, "must be at least as long as block", options.max))
  mistakes.throwAll()
  return Object.freeze({ ...blockPolicy, penalty: { after, within, block, factor, max, forget } })
}

function microsOf(duration: unknown, place: string): number {
  if (duration === undefined)
    throw new SluiceError("OPTION_MISSING", { place, expected: 'is required, like "10m"' })
  const micros = Math.round(parseDuration(duration, place) * 1000)
  if (micros >= 1 && micros <= MAX_MS * 1000) return micros
  throw invalid(place, "must be between 1 microsecond and 10 years", duration)
}

function invalid(place: string, expected: string, found: unknown): SluiceError {
  return new SluiceError("PENALTY_INVALID", { place, expected, found })
}
