// Finds the rules that match a request. An index narrows down the rules to the few that can match. Each of the few is then tested.

import { finish, type Steps } from "../language/steps.js"
import { ComparedRequest } from "./compared-request.js"
import type { Matched, MatchReason, MatchSpec, RequestFacts } from "./match-spec.js"
import { indexRules } from "./rule-index.js"
import { compileRuleMatch, type RuleMatch } from "./rule-match.js"

export interface Matcher {
  /** Returns every rule that matches, in the order of the rules. */
  match(facts: RequestFacts): readonly Matched[]
  /** Explains why the rule at `index` matches a request or does not. */
  explain(index: number, facts: RequestFacts): MatchReason
}

/** Compiles a matcher. Throws PATTERN_INVALID for a wrong pattern. `placeOf` names a rule in the error: `rules[3].match`. */
export function compileMatcher(specs: readonly MatchSpec[], placeOf?: (index: number) => string): Matcher {
  return finish(matcherSteps(specs, placeOf))
}

/** Does the same as `compileMatcher`, in steps. */
export function* matcherSteps(
  specs: readonly MatchSpec[],
  placeOf: (index: number) => string = (index) => `rules[${index}].match`,
): Steps<Matcher> {
  const rules: RuleMatch[] = []
  const queryNames = new Set<string>()
  for (const [index, spec] of specs.entries()) {
    const rule = yield* compileRuleMatch(spec, index, placeOf(index))
    rules.push(rule)
    for (const { name } of rule.queries ?? []) queryNames.add(name)
  }
  const index = yield* indexRules(rules)
  return {
    match(facts) {
      const found: Matched[] = []
      index.collect(new ComparedRequest(facts, queryNames), found)
      return found.length > 1 ? inRuleOrder(found) : found
    },
    explain(at, facts) {
      const rule = rules[at]
      if (rule === undefined) throw new RangeError(`there is no rule ${at}: there are ${rules.length} rules`)
      return rule.explain(new ComparedRequest(facts, queryNames))
    },
  }
}

/** Sorts the matches by rule, and keeps one of each rule. */
function inRuleOrder(found: Matched[]): Matched[] {
  found.sort((a, b) => a.index - b.index)
  return found.filter(({ index }, i) => index !== found[i - 1]?.index)
}
