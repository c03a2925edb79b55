import type { AlgorithmName } from "sluice"
import type { LimitSpec, RuleSetDocument } from "sluice/rules"

/** A rule set with every limit by another algorithm: to compare them on the same traffic. */
export function withAlgorithm(ruleSet: RuleSetDocument, algorithm: AlgorithmName): RuleSetDocument {
  return changed(ruleSet, algorithm) as RuleSetDocument
}

/** Limits are in rules, tiers, overrides and candidates: wherever there is a list by this name. */
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

/** Options of the algorithm it had mean nothing to another. */
function limitBy({ name, limit, window }: LimitSpec, algorithm: AlgorithmName): LimitSpec {
  return { ...(name === undefined ? {} : { name }), algorithm, limit, window }
}
