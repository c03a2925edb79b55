// Variants of a rule set that a replay can try beside the original.

import type { AlgorithmName } from "sluice"
import { isCalendarUnit, windowMsOf } from "sluice/internal"
import type { LimitSpec, RuleSetDocument } from "sluice/rules"

/** Enforces the rules in shadow mode, to show which clients they would deny. */
export function asEnforced(ruleSet: RuleSetDocument): RuleSetDocument {
  const rules = ruleSet.rules.map((rule) =>
    rule.mode === "shadow" ? { ...rule, mode: "enforce" as const } : rule,
  )
  return { ...ruleSet, rules }
}

/** Replaces the algorithm of every limit, to compare algorithms on the same traffic. */
export function withAlgorithm(ruleSet: RuleSetDocument, algorithm: AlgorithmName): RuleSetDocument {
  return changed(ruleSet, algorithm) as RuleSetDocument
}

/** Changes every list named `limits`: rules, tiers, overrides and candidates have one. */
function changed(value: unknown, algorithm: AlgorithmName): unknown {
  if (Array.isArray(value)) return value.map((one) => changed(one, algorithm))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      name === "limits" && Array.isArray(part)
        ? part.map((limit: LimitSpec) => limitBy(limit, algorithm))
        : changed(part, algorithm),
    ]),
  )
}

/**
 * Drops the options of the former algorithm, which have no meaning for another. Only a fixed window follows the calendar: for other
 * algorithms the window is a duration, the usual length of the calendar's.
 */
function limitBy({ name, limit, window, timeZone }: LimitSpec, algorithm: AlgorithmName): LimitSpec {
  const common = { ...(name === undefined ? {} : { name }), algorithm, limit }
  if (!isCalendarUnit(window)) return { ...common, window }
  if (algorithm !== "fixed-window") return { ...common, window: windowMsOf(window, "") }
  return { ...common, window, ...(timeZone === undefined ? {} : { timeZone }) }
}
