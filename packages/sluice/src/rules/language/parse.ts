import { checkRules } from "./check-rules.js"
import { type Bounds, boundsOf, type GuardRails } from "./guard-rails.js"
import { type FoundProblem, problemAt, problemsOf } from "./problems.js"
import { type RuleProblem, RuleSetError } from "./rule-set-error.js"
import { type RuleSetDocument, type RuleSpec, ruleSetSchema } from "./schema.js"
import { readYaml, type YamlText } from "./yaml-text.js"

export interface ParseOptions {
  /** The bounds on rules. */
  guardRails?: GuardRails
  /** What the set is called in errors: the name of its file. Default: `"rules"`. */
  name?: string
  /**
   * How often aliases (`*name`) may stand in for other parts of the text. Default: 100. With 0 there may be none: an alias
   * lets few bytes stand for many, so text from the network should not have them.
   */
  maxAliases?: number
  /** The search for mistakes ends when this many are found. Default: 1,000. */
  maxProblems?: number
}

/** As many as anybody reads. */
const MAX_PROBLEMS = 1_000

/** Reads a rule set from YAML or JSON. All mistakes are reported at once, with line and column. */
export function parseRuleSet(text: string, options: ParseOptions = {}): RuleSetDocument {
  const { name = "rules" } = options
  const bounds = boundsOf(options.guardRails)
  const { value, positionOf } = readText(text, name, options, bounds)
  const problems = problemsIn(value, bounds, options.maxProblems).map((problem) => ({
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
  const { value, positionOf } = readText(text, name, options, bounds)
  const taken = within.rules.findIndex((rule) => rule.id === id)
  const index = id === undefined || taken === -1 ? within.rules.length : taken
  const rules: unknown[] = [...within.rules]
  rules[index] = value
  const problems = problemsIn({ ...within, rules }, bounds, options.maxProblems).map((problem) => {
    // What lies outside, such as an override for an id that is gone, has no place in this text.
    const isInside = problem.at[0] === "rules" && problem.at[1] === index
    return isInside ? { ...problem, ...positionOf(problem.at.slice(2), problem.isName) } : problem
  })
  if (problems.length > 0) throw new RuleSetError(name, problems.map(toProblem))
  return value as RuleSpec
}

/** Checks a rule set given as an object. All mistakes are reported at once. */
export function checkRuleSet(set: unknown, options: ParseOptions = {}): RuleSetDocument {
  const problems = problemsIn(set, boundsOf(options.guardRails), options.maxProblems)
  if (problems.length > 0) throw new RuleSetError(options.name ?? "rules", problems.map(toProblem))
  return set as RuleSetDocument
}

function readText(text: string, name: string, options: ParseOptions, { maxBytes }: Bounds): YamlText {
  const { maxAliases, maxProblems = MAX_PROBLEMS } = options
  const bounds = { name, maxBytes, maxProblems }
  return readYaml(text, maxAliases === undefined ? bounds : { ...bounds, maxAliases })
}

function problemsIn(set: unknown, bounds: Bounds, most = MAX_PROBLEMS): FoundProblem[] {
  if (typeof set !== "object" || set === null || Array.isArray(set))
    return [problemAt(set, "RULE_FIELD_INVALID", [], "must be a map with version and rules")]
  const parsed = ruleSetSchema.safeParse(set)
  const shape = parsed.success ? [] : problemsOf(set, parsed.error.issues, most)
  if (shape.length >= most) return shape
  // What the shape has said already is not said twice.
  const said = new Set(shape.map(({ path }) => path))
  return [...shape, ...checkRules(set, bounds, most - shape.length, said)]
}

function toProblem({
  at: _at,
  isName: _isName,
  ...problem
}: RuleProblem & Partial<FoundProblem>): RuleProblem {
  return problem
}
