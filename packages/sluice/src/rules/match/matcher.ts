// Which rules a request meets. Compiled once per rule set: an index finds the few rules that may match, however many
// there are, and each of those is then asked.

import { finish, type Steps } from "../language/steps.js"
import { ComparedRequest } from "./compared-request.js"
import { Found } from "./found.js"
import type { Matched, MatchReason, MatchSpec, RequestFacts } from "./match-spec.js"
import { indexRules } from "./rule-index.js"
import { RuleMatch } from "./rule-match.js"

export interface Matcher {
  /** Every rule that matches, in the order of the rules. The list may be shared: it is not to be changed. */
  match(facts: RequestFacts): readonly Matched[]
  /** Why one rule matches a request or does not. */
  explain(index: number, facts: RequestFacts): MatchReason
}

/** `placeOf` names the match of a rule in errors: `rules[3].match`. */
export function compileMatcher(specs: readonly MatchSpec[], placeOf?: (index: number) => string): Matcher {
  return finish(matcherSteps(specs, placeOf))
}

/** Compiles a matcher in steps. */
export function* matcherSteps(
  specs: readonly MatchSpec[],
  placeOf: (index: number) => string = (index) => `rules[${index}].match`,
): Steps<Matcher> {
  const rules: RuleMatch[] = []
  for (const [index, spec] of specs.entries())
    rules.push(yield* RuleMatch.compile(spec, index, placeOf(index)))
  const queryNames = new Set(rules.flatMap(({ queries }) => queries.map(({ name }) => name)))
  const index = yield* indexRules(rules)
  return {
    match(facts) {
      const found = new Found()
      index.collect(new ComparedRequest(facts, queryNames), found)
      return found.inRuleOrder()
    },
    explain(at, facts) {
      const rule = rules[at]
      if (rule === undefined) throw new RangeError(`there is no rule ${at} of ${rules.length}`)
      return rule.explain(new ComparedRequest(facts, queryNames))
    },
  }
}
