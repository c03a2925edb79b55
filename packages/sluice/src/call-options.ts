import { SluiceError } from "./errors.js"

export interface CheckOptions {
  /** How many units the request costs. Default: 1. A cost of 0 decides and charges nothing. */
  cost?: number
  /** The time of the request, in milliseconds since 1970. Default: the store's clock. */
  at?: number
  /** Overrides the limit for this call. Earlier charges stay. */
  limit?: number
  /** Overrides the burst for this call. */
  burst?: number
}

export interface CheckRequest extends CheckOptions {
  key: string
}

/** In the year 2243. A later time is a mistake: usually it is in microseconds. */
const MAX_TIME_MS = 8.64e15 / 1000

/** Checks a time in milliseconds since 1970 and converts it to whole microseconds. */
export function microsOf(ms: unknown): number {
  if (typeof ms !== "number" || !(ms >= 0 && ms <= MAX_TIME_MS)) {
    throw new SluiceError("TIME_INVALID", {
      place: "at",
      expected: "must be a time in milliseconds since 1970",
      found: ms,
    })
  }
  return Math.round(ms * 1000)
}

/** Checks a cost. Default: 1. */
export function costOf(cost: unknown): number {
  if (cost === undefined) return 1
  if (!Number.isInteger(cost) || (cost as number) < 0 || (cost as number) > Number.MAX_SAFE_INTEGER) {
    throw new SluiceError("COST_INVALID", { place: "cost", expected: "must be an integer ≥ 0", found: cost })
  }
  return cost as number
}

/** Checks the real cost of a reservation, which has no default. */
export function realCostOf(cost: unknown): number {
  if (cost !== undefined) return costOf(cost)
  throw new SluiceError("COST_INVALID", { place: "settle", expected: "needs the real cost" })
}

export function checkKey(key: unknown): void {
  if (typeof key === "string" && key) return
  throw new SluiceError("KEY_INVALID", {
    place: "key",
    expected: "must be a string that is not empty",
    found: key,
  })
}
