import type { Algorithm, AlgorithmName, Penalty, Policy } from "./algorithms/algorithm.js"
import { blockPolicy } from "./algorithms/block.js"
import { gcra, isBucket, leakyBucket, tokenBucket } from "./algorithms/bucket.js"
import { CALENDAR_LENGTHS, type CalendarUnit } from "./algorithms/calendar.js"
import { concurrency } from "./algorithms/concurrency.js"
import { gcd, MAX_EXACT } from "./algorithms/exact.js"
import { fixedWindow } from "./algorithms/fixed-window.js"
import { slidingWindowCounter } from "./algorithms/sliding-window-counter.js"
import { slidingWindowLog } from "./algorithms/sliding-window-log.js"
import {
  calendarOf,
  isCalendarUnit,
  openCalendar,
  type SavedCalendar,
  saveCalendar,
} from "./calendar-options.js"
import type { Duration } from "./duration.js"
import { formatDuration, parseDuration } from "./duration.js"
import { Mistakes, SluiceError } from "./errors.js"
import type { HeaderPolicy } from "./header-style.js"
import type { LeaseOptions } from "./lease-options.js"
import { checkLease, leasedNumbers, leaseOf, leavesEnough } from "./lease-options.js"
import { checkOneOf } from "./options.js"
import type { PenaltyOptions } from "./penalty-options.js"

export const algorithms: Readonly<Record<AlgorithmName, Algorithm>> = {
  "fixed-window": fixedWindow,
  "sliding-window-log": slidingWindowLog,
  "sliding-window-counter": slidingWindowCounter,
  "token-bucket": tokenBucket,
  "leaky-bucket": leakyBucket,
  gcra,
  concurrency,
}

/** One limit, as users write it. */
export interface LimitOptions {
  /** Appears in decisions, headers and storage keys. Default: limit and window, like `"100/1m"`. */
  name?: string
  /** Units per window. concurrency: units held at a time. */
  limit: number
  /** A duration, or a window of the calendar: `"hour"`, `"day"`, `"week"` (from Monday) or `"month"`. concurrency has `hold`. */
  window?: Duration | CalendarUnit
  /** The time zone of a calendar window, such as `"Europe/Berlin"`. Default: `"UTC"`. */
  timeZone?: string
  /** Default: `sliding-window-counter`; `fixed-window` with a calendar window, which needs it. */
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
  /** concurrency: after how long a hold ends by itself, if nobody releases it. Required. */
  hold?: Duration
  /** Blocks a key that this limit has denied too often. Default: no key is blocked. */
  penalty?: PenaltyOptions
}

export const LIMIT_FIELDS = [
  "name",
  "limit",
  "window",
  "timeZone",
  "algorithm",
  "burst",
  "maxBurst",
  "buckets",
  "anchor",
  "overflow",
  "hold",
  "penalty",
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
  timeZone: ["fixed-window"],
  overflow: ["leaky-bucket"],
  hold: ["concurrency"],
}

/**
 * Checks the options of one limit and computes its policy. `place` is where errors say the mistake is, `leasesPlace` where the
 * option `leases` is.
 */
export function compilePolicy(
  options: LimitOptions,
  place: string,
  leases?: LeaseOptions,
  leasesPlace: string = at(place, "leases"),
): Policy {
  const name =
    options.algorithm ?? (isCalendarUnit(options.window) ? "fixed-window" : "sliding-window-counter")
  const mistakes = new Mistakes()
  mistakes.try(() => checkAlgorithm(name, options, place))
  const limit = mistakes.try(() => wholeNumber(options.limit, at(place, "limit"), 1)) as number
  const span = name === "concurrency" ? "hold" : "window"
  const window = mistakes.try(() => windowOf(options[span], at(place, span))) as number
  mistakes.try(() => checkOneOf(options.anchor, ["aligned", "first-request"], at(place, "anchor")))
  mistakes.try(() => checkOneOf(options.overflow, ["reject", "queue"], at(place, "overflow")))
  const calendar = mistakes.try(() => calendarOf(options, name, place))
  const buckets = mistakes.try(() => bucketsOf(options.buckets, window, at(place, "buckets"))) as number
  const capacity = mistakes.try(() => capacityOf(options, limit, place)) as number
  mistakes.throwAll()
  const anchored = options.anchor === "first-request"
  const queue = options.overflow === "queue"
  const widest = options.burst !== undefined ? "burst" : options.maxBurst !== undefined ? "maxBurst" : "limit"
  const numbers = {
    algorithm: name,
    limit,
    window,
    capacity,
    buckets,
    anchored,
    queue,
    lease: 0,
    calendar,
    penalty: undefined,
  }
  // Each hold needs its own place, so no instance takes places in advance.
  const lease = name === "concurrency" ? 0 : leaseOf(leases, window, leasesPlace)
  if (lease > 0) checkLease({ ...numbers, lease }, leasesPlace)
  return makePolicy({ ...numbers, lease }, at(place, widest), options[widest])
}

/** Throws if the algorithm does not exist, or does not take one of the options. */
function checkAlgorithm(name: AlgorithmName, options: LimitOptions, place: string): void {
  checkAlgorithmName(name, at(place, "algorithm"))
  const mistakes = new Mistakes()
  if (name === "concurrency" && options.window !== undefined) {
    const expected = "is not an option of concurrency, which limits what is held at a time; hold is"
    mistakes.add(new SluiceError("OPTION_CONFLICT", { place: at(place, "window"), expected }))
  }
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

/**
 * The policy with another limit or burst, for one call. It keeps its leases if they leave enough of the new numbers; otherwise
 * its checks all ask the store.
 */
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
  else if (limit === undefined || policy.promisedCapacity !== policy.limit) capacity = policy.promisedCapacity
  const widest = burst === undefined ? "limit" : "burst"
  const numbers = { ...savePolicy(policy), limit: newLimit, capacity }
  const lease = leavesEnough(numbers) ? policy.lease : 0
  return makePolicy({ ...numbers, lease }, widest, burst ?? newLimit)
}

/** The numbers that define a policy, as the user asked for them and as a snapshot stores them. Times are in microseconds. */
export interface SavedPolicy {
  readonly algorithm: AlgorithmName | "block"
  readonly limit: number
  readonly window: number
  readonly capacity: number
  readonly buckets: number
  readonly anchored: boolean
  readonly queue: boolean
  /** Older snapshots do not have it. Default: 0. */
  readonly lease?: number
  readonly calendar?: SavedCalendar | undefined
  /** block: when denials of a limit block the key. */
  readonly penalty?: Penalty | undefined
}

export function savePolicy(policy: Policy): SavedPolicy {
  const { algorithm, limit, buckets, anchored, queue, lease } = policy
  const { promisedWindow: window, promisedCapacity: capacity } = policy
  return {
    algorithm: algorithm.name,
    limit,
    window,
    capacity,
    buckets,
    anchored,
    queue,
    lease,
    calendar: saveCalendar(policy),
    penalty: policy.penalty,
  }
}

export function restorePolicy(saved: SavedPolicy): Policy {
  if (saved.algorithm !== "block") return makePolicy(saved, "limit", saved.limit)
  return saved.penalty === undefined ? blockPolicy : { ...blockPolicy, penalty: saved.penalty }
}

/** `place` and `found` appear in the error if the numbers are too large. */
function makePolicy(numbers: SavedPolicy, place: string, found: unknown): Policy {
  const { limit, buckets, anchored, queue, lease = 0 } = numbers
  const { capacity, window } = leasedNumbers(numbers)
  const algorithm = algorithms[numbers.algorithm as AlgorithmName]
  const drains = isBucket(numbers.algorithm)
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
  const ms = numbers.window / 1000
  return Object.freeze({
    algorithm,
    limit,
    window,
    // Through Math.floor, V8 stores a whole number as a small integer; else it allocates a number for every decision.
    windowMs: Number.isInteger(ms) ? Math.floor(ms) : ms,
    capacity,
    buckets,
    bucketSize,
    token,
    leak,
    full,
    anchored,
    queue,
    lease,
    promisedCapacity: numbers.capacity,
    promisedWindow: numbers.window,
    calendar: numbers.calendar && openCalendar(numbers.calendar, "timeZone"),
  })
}

/** The length of a window in milliseconds: for a window of the calendar the usual one. */
export function windowMsOf(window: unknown, place: string): number {
  return windowOf(window, place) / 1000
}

/** The name of a limit without one: `100/1m`, `100/day` or `4-at-once`. */
export function defaultName(policy: Policy): string {
  if (policy.algorithm.name === "concurrency") return `${policy.limit}-at-once`
  return `${policy.limit}/${policy.calendar?.unit ?? formatDuration(policy.windowMs)}`
}

/** What headers say of a policy. */
export function promiseOf({ algorithm, limit, windowMs }: Policy): Omit<HeaderPolicy, "name"> {
  if (algorithm.name === "concurrency") return { quota: limit, windowMs: 0, unit: "concurrent-requests" }
  return { quota: limit, windowMs }
}

function windowOf(window: unknown, place: string): number {
  if (window === undefined)
    throw new SluiceError("OPTION_MISSING", { place, expected: 'is required, like "1m"' })
  if (isCalendarUnit(window)) return CALENDAR_LENGTHS[window]
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
