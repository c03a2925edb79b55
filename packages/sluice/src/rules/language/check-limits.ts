import type { AlgorithmName } from "../../algorithms/algorithm.js"
import { isCalendarUnit } from "../../calendar-options.js"
import type { Duration } from "../../duration.js"
import { checkDistinct, compileLimit } from "../../limiter/limiter-options.js"
import { compilePolicy, type LeaseOptions, type LimitOptions, windowMsOf } from "../../policy.js"
import type { Bounds } from "./guard-rails.js"
import { asList, asMap, type ProblemList } from "./problem-list.js"
import { ALGORITHMS, type LimitSpec, leasesSchema, limitSchema } from "./schema.js"
import type { Path } from "./schema-issues.js"

export interface LimitContext {
  readonly bounds: Bounds
  /** `defaults.algorithm` of the set, valid or not. */
  readonly defaultAlgorithm: unknown
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
  const { bounds, defaultAlgorithm } = context
  const list = asList(limits)
  if (list.length > bounds.maxLimits) outOfBounds(found, at, list.length, bounds.maxLimits, "maxLimits")
  const algorithm = ALGORITHMS.find((known) => known === defaultAlgorithm)
  const valid: LimitSpec[] = []
  // A list beyond the bound is one problem: its other entries are not checked.
  list.slice(0, bounds.maxLimits).forEach((limit, i) => {
    const parsed = limitSchema.safeParse(withDefaultAlgorithm(asMap(limit), algorithm))
    if (!parsed.success) return
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

/** The limit with `defaults.algorithm` if it names none. A window of the calendar has only one algorithm. */
export function withDefaultAlgorithm<Limit extends { window?: unknown }>(
  limit: Limit,
  algorithm: AlgorithmName | undefined,
): Limit & { algorithm?: AlgorithmName } {
  return algorithm === undefined || isCalendarUnit(limit.window) ? limit : { algorithm, ...limit }
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
