import { checkRules } from "./check-rules.js"
import { boundsOf, type GuardRails } from "./guard-rails.js"
import { type FoundProblem, problemAt, problemsOf } from "./problems.js"
import { type RuleProblem, RuleSetError } from "./rule-set-error.js"
import { type RuleSetDocument, type RuleSpec, ruleSetSchema } from "./schema.js"
import { readYaml } from "./yaml-text.js"

export interface ParseOptions {
  /** The bounds on rules. */
  guardRails?: GuardRails
  /** What the set is called in errors: the name of its file. Default: `"rules"`. */
  name?: string
}

/** Reads a rule set from YAML or JSON. Every mistake is reported at once, with its line and column. */
export function parseRuleSet(text: string, options: ParseOptions = {}): RuleSetDocument {
  const { name = "rules" } = options
  const bounds = boundsOf(options.guardRails)
  const { value, positionOf } = readYaml(text, { name, maxBytes: bounds.maxBytes })
  const problems = problemsIn(value, bounds).map((problem) => ({
    ...problem,
    ...positionOf(problem.at, problem.isName),
  }))
  if (problems.length > 0) {
    problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0))
    throw new RuleSetError(name, problems.map(toProblem))
  }
  return value as RuleSetDocument
}

export interface RuleParseOptions extends ParseOptions {
  /** The set that the rule is to be a part of. */
  within: RuleSetDocument
  /** The id of the rule whose place it takes. Default: it comes after the others. */
  id?: string | undefined
}

/** Reads one rule, and checks it as a part of its set. Lines and columns are those of the rule's own text. */
export function parseRule(text: string, options: RuleParseOptions): RuleSpec {
  const { name = "rule", within, id } = options
  const bounds = boundsOf(options.guardRails)
  const { value, positionOf } = readYaml(text, { name, maxBytes: bounds.maxBytes })
  const taken = within.rules.findIndex((rule) => rule.id === id)
  const index = id === undefined || taken === -1 ? within.rules.length : taken
  const rules: unknown[] = [...within.rules]
  rules[index] = value
  const problems = problemsIn({ ...within, rules }, bounds).map((problem) => {
    // What lies outside, such as an override for an id that is gone, has no place in this text.
    const isInside = problem.at[0] === "rules" && problem.at[1] === index
    return isInside ? { ...problem, ...positionOf(problem.at.slice(2), problem.isName) } : problem
  })
  if (problems.length > 0) throw new RuleSetError(name, problems.map(toProblem))
  return value as RuleSpec
}

/** Checks a rule set given as an object. Every mistake is reported at once. */
export function checkRuleSet(set: unknown, options: ParseOptions = {}): RuleSetDocument {
  const problems = problemsIn(set, boundsOf(options.guardRails))
  if (problems.length > 0) throw new RuleSetError(options.name ?? "rules", problems.map(toProblem))
  return set as RuleSetDocument
}

function problemsIn(set: unknown, bounds: ReturnType<typeof boundsOf>): FoundProblem[] {
  if (typeof set !== "object" || set === null || Array.isArray(set))
    return [problemAt(set, "RULE_FIELD_INVALID", [], "must be a map with version and rules")]
  const parsed = ruleSetSchema.safeParse(set)
  const shape = parsed.success ? [] : problemsOf(set, parsed.error.issues)
  // What the shape has said already is not said twice.
  const said = new Set(shape.map(({ path }) => path))
  return [...shape, ...checkRules(set, bounds).filter(({ path }) => !said.has(path))]
}

function toProblem({
  at: _at,
  isName: _isName,
  ...problem
}: RuleProblem & Partial<FoundProblem>): RuleProblem {
  return problem
}
