// The real cost of a request, from a field of the log or from the size of the response.

import { SluiceError } from "sluice"
import type { LoggedCost } from "../model/replay-options.js"
import { amountOf, type LogReader } from "./logged-request.js"

/** Returns a function for the cost in the last line that the reader has read, in whole units. Undefined if nobody asks for it. */
export function costReader(
  { format, field, bytes }: LogReader,
  cost: LoggedCost | undefined,
): (() => number | undefined) | undefined {
  if (cost === undefined) return undefined
  if ("bytesPerUnit" in cost) {
    const { bytesPerUnit } = cost
    if (!(bytesPerUnit > 0)) throw invalid("bytesPerUnit", "must be a number > 0", bytesPerUnit)
    if (bytes === undefined)
      throw missing("bytesPerUnit", `needs the size of responses, which ${format} lacks`)
    return () => units(amountOf(bytes()), 1 / bytesPerUnit)
  }
  if (field === undefined) throw missing("field", `needs a log with named fields, which ${format} lacks`)
  const weights = typeof cost.field === "string" ? [[cost.field, 1] as const] : Object.entries(cost.field)
  for (const [name, weight] of weights)
    if (!(weight >= 0)) throw invalid(`field.${name}`, "must be a weight ≥ 0", weight)
  return () => {
    let sum: number | undefined
    for (const [name, weight] of weights) {
      const value = amountOf(field(name))
      if (value !== undefined) sum = (sum ?? 0) + value * weight
    }
    return units(sum, 1)
  }
}

function units(amount: number | undefined, factor: number): number | undefined {
  return amount === undefined ? undefined : Math.min(Math.ceil(amount * factor), Number.MAX_SAFE_INTEGER)
}

function invalid(name: string, expected: string, found: unknown): SluiceError {
  return new SluiceError("OPTION_TYPE", { place: `cost.${name}`, expected, found })
}

function missing(name: string, expected: string): SluiceError {
  return new SluiceError("LOG_FORMAT_INVALID", { place: `cost.${name}`, expected })
}
