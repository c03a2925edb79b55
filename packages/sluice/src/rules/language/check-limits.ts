import { isCalendarUnit } from "../../calendar-options.js"
import type { Duration } from "../../duration.js"
import type { LeaseOptions } from "../../lease-options.js"
import { checkDistinct, compileLimit } from "../../limiter/limiter-options.js"
import { compilePolicy, type LimitOptions, windowMsOf } from "../../policy.js"
import type { Bounds } from "./guard-rails.js"
import { asList, asMap, type ProblemList } from "./problem-list.js"
import { type LimitSpec, leasesSchema, limitSchema } from "./schema.js"
import type { Path } from "./schema-issues.js"

export interface LimitContext {
  readonly bounds: Bounds
  /** `defaults` of the set, valid or not. */
  readonly defaults: Readonly<Record<string, unknown>>
}

/**
 * The leases that leave the least of a limit: what they leave enough of, all others do. `given` are the values of rules, valid or
 * not.
 */
export function longestLeases(given: readonly unknown[]): LeaseOptions[] {
  let hasDefault = false
  let longest: Duration | undefined
  for (const value of given) {
    const leases = leasesSchema.safeParse(value).data as LeaseOptions | undefined
    if (leases === undefined || leases === false) continue
    const length = leases === true ? undefined : leases.length
    if (length === undefined) hasDefault = true
    else if (longest === undefined || durationOf(length) > durationOf(longest)) longest = length
  }
  return [...(hasDefault ? [true] : []), ...(longest === undefined ? [] : [{ length: longest }])]
}

/**
 * Checks each limit of a list, then whether the names or windows tell their counters apart. `leases` are the longest leases of the
 * rules that the limits apply to.
 */
export function checkLimits(
  found: ProblemList,
  limits: unknown,
  at: Path,
  context: LimitContext,
  leases: readonly LeaseOptions[],
): void {
  const { bounds, defaults } = context
  const usable = validDefaults(defaults)
  const list = asList(limits)
  if (list.length > bounds.maxLimits) outOfBounds(found, at, list.length, bounds.maxLimits, "maxLimits")
  const valid: LimitSpec[] = []
  // A list beyond the bound is one problem: its other entries are not checked.
  list.slice(0, bounds.maxLimits).forEach((limit, i) => {
    const parsed = limitSchema.safeParse(withDefaults(asMap(limit), usable))
    if (!parsed.success || !isComplete(found, parsed.data, [...at, i], defaults)) return
    found.try([...at, i], () => {
      for (const leased of leases.length === 0 ? [false] : leases)
        compilePolicy(parsed.data as LimitOptions, "", leased)
      valid.push(parsed.data)
    })
    checkNumbers(found, parsed.data, [...at, i], bounds)
  })
  if (valid.length === list.length && valid.length > 1)
    found.try(at, () =>
      checkDistinct(
        valid.map((limit, i) => compileLimit(limit as LimitOptions, `[${i}]`, "")),
        "",
      ),
    )
}

/** The fields that a limit takes from `defaults` of its set. */
type LimitDefaults<Value> = { readonly limit?: Value; readonly window?: Value; readonly algorithm?: Value }

/** The limit with what `defaults` say for it. A window of the calendar has only one algorithm, and concurrency has no window. */
export function withDefaults<Limit extends LimitDefaults<unknown>>(
  own: Limit,
  defaults: LimitDefaults<unknown>,
): Limit {
  const isConcurrency = (own.algorithm ?? defaults.algorithm) === "concurrency"
  const window = isConcurrency ? undefined : defaults.window
  const complete = {
    ...(defaults.limit === undefined ? {} : { limit: defaults.limit }),
    ...(window === undefined ? {} : { window }),
    ...own,
  }
  if (defaults.algorithm === undefined || isCalendarUnit(complete.window)) return complete
  return { algorithm: defaults.algorithm, ...complete }
}

/** The defaults that are valid: a wrong one is reported at its own place, and must hide no other problem. */
function validDefaults(defaults: LimitDefaults<unknown>): LimitDefaults<unknown> {
  const { limit, window, algorithm } = limitSchema.shape
  return {
    limit: limit.safeParse(defaults.limit).data,
    window: window.safeParse(defaults.window).data,
    algorithm: algorithm.safeParse(defaults.algorithm).data,
  }
}

/** Whether a limit has its numbers, of its own or by default. Adds a problem for each that nobody gives. */
function isComplete(found: ProblemList, own: LimitSpec, at: Path, defaults: LimitDefaults<unknown>): boolean {
  const expected = { limit: "must be an integer", window: 'must be a duration like "1m"' }
  const needed = own.algorithm === "concurrency" ? (["limit"] as const) : (["limit", "window"] as const)
  for (const field of needed) {
    if (own[field] === undefined && defaults[field] === undefined)
      found.add(
        "RULE_FIELD_INVALID",
        [...at, field],
        `is required and ${expected[field]}, here or in defaults`,
      )
  }
  return needed.every((field) => own[field] !== undefined)
}

/** Adds the problem of a list that is longer than an administrator allows. */
export function outOfBounds(found: ProblemList, at: Path, count: number, max: number, name: string): void {
  found.add("RULE_OUT_OF_BOUNDS", at, `must have at most ${max} (${name}), got ${count}`)
}

function checkNumbers(found: ProblemList, limit: LimitSpec, at: Path, bounds: Bounds): void {
  const { minWindow, maxWindow, minLimit, maxLimit } = bounds
  const outside = (field: keyof LimitSpec, bound: string) =>
    found.add("RULE_OUT_OF_BOUNDS", [...at, field], `must be ${bound}, got ${JSON.stringify(limit[field])}`)
  for (const field of ["limit", "burst", "maxBurst"] as const) {
    const value = limit[field]
    if (value === undefined) continue
    if (value > maxLimit) outside(field, `at most ${maxLimit} (maxLimit)`)
    if (field === "limit" && value < minLimit) outside(field, `at least ${minLimit} (minLimit)`)
  }
  const field = limit.hold === undefined ? "window" : "hold"
  const window = durationOf(limit[field])
  if (window < minWindow) outside(field, `at least ${minWindow} ms (minWindow)`)
  if (window > maxWindow) outside(field, `at most ${maxWindow} ms (maxWindow)`)
}

/** NaN for a window that is no duration: it is within all bounds, and reported elsewhere. */
function durationOf(window: unknown): number {
  try {
    return windowMsOf(window, "")
  } catch {
    return Number.NaN
  }
}
