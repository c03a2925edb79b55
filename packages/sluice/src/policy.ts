import type { Algorithm, AlgorithmName, Policy } from "./algorithms/algorithm.js"
import { blockPolicy } from "./algorithms/block.js"
import { gcra, leakyBucket, tokenBucket } from "./algorithms/bucket.js"
import { gcd, MAX_EXACT } from "./algorithms/exact.js"
import { fixedWindow } from "./algorithms/fixed-window.js"
import { slidingWindowCounter } from "./algorithms/sliding-window-counter.js"
import { slidingWindowLog } from "./algorithms/sliding-window-log.js"
import type { Duration } from "./duration.js"
import { formatDuration, parseDuration } from "./duration.js"
import { Mistakes, SluiceError } from "./errors.js"
import { checkOneOf } from "./options.js"

export const algorithms: Readonly<Record<AlgorithmName, Algorithm>> = {
  "fixed-window": fixedWindow,
  "sliding-window-log": slidingWindowLog,
  "sliding-window-counter": slidingWindowCounter,
  "token-bucket": tokenBucket,
  "leaky-bucket": leakyBucket,
  gcra,
}

/** One limit, as users write it. */
export interface LimitOptions {
  /** Appears in decisions, headers and storage keys. Default: limit and window, like `"100/1m"`. */
  name?: string
  /** Units per window. */
  limit: number
  window: Duration
  /** Default: `sliding-window-counter`. */
  algorithm?: AlgorithmName
  /** token-bucket and leaky-bucket: the capacity. Default: `limit`. */
  burst?: number
  /** gcra: how many requests may follow the first one at once. Default: `limit - 1`. */
  maxBurst?: number
  /** sliding-window-counter: into how many buckets the window is cut. Default: 1. */
  buckets?: number
  /** fixed-window: where windows start. Default: `"aligned"`, at multiples of the window since 1970. */
  anchor?: "aligned" | "first-request"
  /** leaky-bucket: `"queue"` delays requests so that they leave evenly spaced. Default: `"reject"`. */
  overflow?: "reject" | "queue"
}

export const LIMIT_FIELDS = [
  "name",
  "limit",
  "window",
  "algorithm",
  "burst",
  "maxBurst",
  "buckets",
  "anchor",
  "overflow",
] as const

/** Ten years. Longer windows exceed the range of the exact division in exact.ts. */
const MAX_WINDOW_MS = 3_652.5 * 86_400_000
const MAX_LIMIT = 2 ** 50
const MAX_BUCKETS = 3_600

/** The options that only some algorithms take. */
const ALGORITHMS_OF_OPTION: Record<string, readonly AlgorithmName[]> = {
  burst: ["token-bucket", "leaky-bucket"],
  maxBurst: ["gcra"],
  buckets: ["sliding-window-counter"],
  anchor: ["fixed-window"],
  overflow: ["leaky-bucket"],
}

/** Checks the options of one limit and computes its policy. `place` is where errors say the mistake is. */
export function compilePolicy(options: LimitOptions, place: string): Policy {
  const name = options.algorithm ?? "sliding-window-counter"
  const mistakes = new Mistakes()
  mistakes.try(() => checkAlgorithm(name, options, place))
  const limit = mistakes.try(() => wholeNumber(options.limit, at(place, "limit"), 1)) as number
  const window = mistakes.try(() => windowOf(options.window, at(place, "window"))) as number
  mistakes.try(() => checkOneOf(options.anchor, ["aligned", "first-request"], at(place, "anchor")))
  mistakes.try(() => checkOneOf(options.overflow, ["reject", "queue"], at(place, "overflow")))
  const buckets = mistakes.try(() => bucketsOf(options.buckets, window, at(place, "buckets"))) as number
  const capacity = mistakes.try(() => capacityOf(options, limit, place)) as number
  mistakes.throwAll()
  const anchored = options.anchor === "first-request"
  const queue = options.overflow === "queue"
  const widest = options.burst !== undefined ? "burst" : options.maxBurst !== undefined ? "maxBurst" : "limit"
  return makePolicy(
    { algorithm: name, limit, window, capacity, buckets, anchored, queue },
    at(place, widest),
    options[widest],
  )
}

/** Throws if the algorithm does not exist, or does not take one of the options. */
function checkAlgorithm(name: AlgorithmName, options: LimitOptions, place: string): void {
  checkAlgorithmName(name, at(place, "algorithm"))
  const mistakes = new Mistakes()
  for (const [option, takers] of Object.entries(ALGORITHMS_OF_OPTION)) {
    if (options[option as keyof LimitOptions] === undefined || takers.includes(name)) continue
    mistakes.add(
      new SluiceError("OPTION_CONFLICT", {
        place: at(place, option),
        expected: `is an option of ${takers.join(" and ")} only`,
        found: name,
      }),
    )
  }
  mistakes.throwAll()
}

function checkAlgorithmName(name: unknown, place: string): void {
  if (typeof name === "string" && Object.hasOwn(algorithms, name)) return
  throw new SluiceError("ALGORITHM_UNKNOWN", {
    place,
    expected: `must be one of ${Object.keys(algorithms).join(", ")}`,
    found: name,
  })
}

function bucketsOf(value: unknown, window: number | undefined, place: string): number {
  const buckets = value === undefined ? 1 : wholeNumber(value, place, 1)
  if (buckets > MAX_BUCKETS || (window !== undefined && window % buckets !== 0)) {
    throw new SluiceError("WINDOW_INVALID", {
      place,
      expected: `must be at most ${MAX_BUCKETS} and cut the window into whole microseconds`,
      found: buckets,
    })
  }
  return buckets
}

function capacityOf({ burst, maxBurst }: LimitOptions, limit: number, place: string): number {
  if (maxBurst !== undefined) return wholeNumber(maxBurst, at(place, "maxBurst"), 0) + 1
  return burst === undefined ? limit : wholeNumber(burst, at(place, "burst"), 1)
}

/** The policy with another limit or burst, for one call. */
export function overridePolicy(policy: Policy, limit: number | undefined, burst: number | undefined): Policy {
  const newLimit = limit === undefined ? policy.limit : wholeNumber(limit, "limit", 1)
  const drains = policy.token > 0
  if (burst !== undefined && !drains) {
    throw new SluiceError("OPTION_CONFLICT", {
      place: "burst",
      expected: "is an option of token-bucket, leaky-bucket and gcra only",
      found: policy.algorithm.name,
    })
  }
  let capacity = newLimit
  if (burst !== undefined) capacity = wholeNumber(burst, "burst", 1)
  else if (limit === undefined || policy.capacity !== policy.limit) capacity = policy.capacity
  const widest = burst === undefined ? "limit" : "burst"
  return makePolicy({ ...savePolicy(policy), limit: newLimit, capacity }, widest, burst ?? newLimit)
}

/** The numbers that define a policy, as a snapshot stores them. Times are in microseconds. */
export interface SavedPolicy {
  readonly algorithm: AlgorithmName | "block"
  readonly limit: number
  readonly window: number
  readonly capacity: number
  readonly buckets: number
  readonly anchored: boolean
  readonly queue: boolean
}

export function savePolicy(policy: Policy): SavedPolicy {
  const { algorithm, limit, window, capacity, buckets, anchored, queue } = policy
  return { algorithm: algorithm.name, limit, window, capacity, buckets, anchored, queue }
}

export function restorePolicy(saved: SavedPolicy): Policy {
  return saved.algorithm === "block" ? blockPolicy : makePolicy(saved, "limit", saved.limit)
}

/** `place` and `found` appear in the error if the numbers are too large. */
function makePolicy(numbers: SavedPolicy, place: string, found: unknown): Policy {
  const { limit, window, capacity, buckets, anchored, queue } = numbers
  const algorithm = algorithms[numbers.algorithm as AlgorithmName]
  const drains = algorithm === tokenBucket || algorithm === leakyBucket || algorithm === gcra
  const divisor = drains ? gcd(limit, window) : 1
  const token = drains ? window / divisor : 0
  const leak = drains ? limit / divisor : 0
  if (capacity * token > MAX_EXACT) {
    throw new SluiceError("POLICY_TOO_LARGE", {
      place,
      expected: `is too large for exact arithmetic with this window (${capacity} × ${token} must not exceed 2^53); a rounder limit or a shorter window fits`,
      found,
    })
  }
  const bucketSize = window / buckets
  const full = capacity * token
  return Object.freeze({
    algorithm,
    limit,
    window,
    capacity,
    buckets,
    bucketSize,
    token,
    leak,
    full,
    anchored,
    queue,
  })
}

/** The name of a limit without one: `100/1m`. */
export function defaultName(policy: Policy): string {
  return `${policy.limit}/${formatDuration(policy.window / 1000)}`
}

function windowOf(window: unknown, place: string): number {
  if (window === undefined)
    throw new SluiceError("OPTION_MISSING", { place, expected: 'is required, like "1m"' })
  const ms = parseDuration(window, place, "WINDOW_INVALID")
  const micros = Math.round(ms * 1000)
  if (micros < 1 || ms > MAX_WINDOW_MS) {
    throw new SluiceError("WINDOW_INVALID", {
      place,
      expected: "must be between 1 microsecond and 10 years",
      found: window,
    })
  }
  return micros
}

function wholeNumber(value: unknown, place: string, smallest: number): number {
  if (value === undefined) throw new SluiceError("OPTION_MISSING", { place, expected: "is required" })
  if (typeof value !== "number" || !Number.isInteger(value) || value < smallest) {
    throw new SluiceError("LIMIT_INVALID", {
      place,
      expected: `must be an integer ≥ ${smallest}`,
      found: value,
    })
  }
  if (value > MAX_LIMIT) {
    throw new SluiceError("POLICY_TOO_LARGE", { place, expected: "must be at most 2^50", found: value })
  }
  return value
}

function at(place: string, option: string): string {
  return place === "" ? option : `${place}.${option}`
}
