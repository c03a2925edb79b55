import type { RuleSetDocument } from "sluice/rules"

/** A rule set with the rules in shadow enforced: to see whom they would hurt, and not only how often. */
export function asEnforced(ruleSet: RuleSetDocument): RuleSetDocument {
  const rules = ruleSet.rules.map((rule) =>
    rule.mode === "shadow" ? { ...rule, mode: "enforce" as const } : rule,
  )
  return { ...ruleSet, rules }
}
