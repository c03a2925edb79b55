import { checkFields, checkList, checkObject, wrongType } from "../../options.js"
import { checkRules } from "./check-rules.js"
import { type Bounds, boundsOf, type GuardRails } from "./guard-rails.js"
import { type FoundProblem, problemAt, problemsOf } from "./problems.js"
import { type RuleProblem, RuleSetError } from "./rule-set-error.js"
import { type RuleSetDocument, type RuleSpec, ruleSetSchema } from "./schema.js"
import { readYaml, type YamlText } from "./yaml-text.js"

export interface ParseOptions {
  /** Bounds that an administrator sets on rules. */
  guardRails?: GuardRails | undefined
  /** The name of the set in errors, such as the name of its file. Default: `"rules"`. */
  name?: string
  /**
   * How many aliases (`*name`) the text may use. Default: 100. Use 0 for text from the network: with aliases, few bytes can
   * stand for very many.
   */
  maxAliases?: number
  /** The search for problems ends when this many are found. Default: 1,000. */
  maxProblems?: number
}

const MAX_PROBLEMS = 1_000
const FIELDS = ["guardRails", "name", "maxAliases", "maxProblems"]

/** Reads a rule set from YAML or JSON. Throws one RuleSetError with every problem, each with its line and column. */
export function parseRuleSet(text: string, options: ParseOptions = {}): RuleSetDocument {
  checkFields(options, FIELDS, "parseRuleSet")
  checkText(text, "parseRuleSet", "; checkRuleSet checks an object")
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
  /** The set that the rule belongs to. */
  within: RuleSetDocument
  /** The id of the rule that it replaces. Default: it is added at the end. */
  id?: string | undefined
}

/** Reads one rule and checks it as a part of its set. Lines and columns are those of the rule's own text. */
export function parseRule(text: string, options: RuleParseOptions): RuleSpec {
  checkFields(options, [...FIELDS, "within", "id"], "parseRule")
  checkText(text, "parseRule", "")
  const { name = "rule", within, id } = options
  checkObject(within, "parseRule.within")
  checkList(within.rules, "parseRule.within.rules")
  const bounds = boundsOf(options.guardRails)
  const { value, positionOf } = readText(text, name, options, bounds)
  const taken = within.rules.findIndex((rule) => rule.id === id)
  const index = id === undefined || taken === -1 ? within.rules.length : taken
  const rules: unknown[] = [...within.rules]
  rules[index] = value
  const problems = problemsIn({ ...within, rules }, bounds, options.maxProblems).map((problem) => {
    // A problem outside of the rule, such as an override for an id that no longer exists, has no position in this text.
    const isInside = problem.at[0] === "rules" && problem.at[1] === index
    return isInside ? { ...problem, ...positionOf(problem.at.slice(2), problem.isName) } : problem
  })
  if (problems.length > 0) throw new RuleSetError(name, problems.map(toProblem))
  return value as RuleSpec
}

/** Checks a rule set that is an object. Throws one RuleSetError with every problem. */
export function checkRuleSet(set: unknown, options: ParseOptions = {}): RuleSetDocument {
  checkFields(options, FIELDS, "checkRuleSet")
  const problems = problemsIn(set, boundsOf(options.guardRails), options.maxProblems)
  if (problems.length > 0) throw new RuleSetError(options.name ?? "rules", problems.map(toProblem))
  return set as RuleSetDocument
}

function checkText(text: unknown, place: string, hint: string): void {
  if (typeof text !== "string") throw wrongType(place, `the text of YAML or JSON${hint}`, text)
}

function readText(text: string, name: string, options: ParseOptions, { maxBytes }: Bounds): YamlText {
  const { maxAliases, maxProblems = MAX_PROBLEMS } = options
  return readYaml(text, { name, maxBytes, maxProblems, maxAliases })
}

function problemsIn(set: unknown, bounds: Bounds, max = MAX_PROBLEMS): FoundProblem[] {
  if (typeof set !== "object" || set === null || Array.isArray(set))
    return [problemAt(set, "RULE_FIELD_INVALID", [], "must be a map with version and rules")]
  const parsed = ruleSetSchema.safeParse(set)
  const shape = parsed.success ? [] : problemsOf(set, parsed.error.issues, max)
  if (shape.length >= max) return shape
  // A path with a problem of the schema is not reported twice.
  const said = new Set(shape.map(({ path }) => path))
  return [...shape, ...checkRules(set, bounds, max - shape.length, said)]
}

function toProblem({
  at: _at,
  isName: _isName,
  ...problem
}: RuleProblem & Partial<FoundProblem>): RuleProblem {
  return problem
}
