// Translates the issues of zod into problems: each has its place, what was expected and what was found.

import { show } from "../../errors.js"
import { nearest } from "../../options.js"
import type { RuleProblem } from "./rule-set-error.js"
import { ruleSetJsonSchema } from "./schema.js"
import {
  expectation,
  fieldsAt,
  type Issue,
  type Path,
  pathText,
  type SchemaNode,
  valueAt,
} from "./schema-issues.js"

/** Created with the first problem: it takes a millisecond. */
let schema: SchemaNode | undefined

export interface FoundProblem extends RuleProblem {
  readonly at: Path
  /** The problem is the name of the field, not its value. */
  readonly isName?: boolean
}

/** A problem at a path. The id of the rule is read from the set. */
export function problemAt(
  set: unknown,
  code: RuleProblem["code"],
  at: Path,
  message: string,
  isName = false,
): FoundProblem {
  const id = at[0] === "rules" && typeof at[1] === "number" ? valueAt(set, ["rules", at[1], "id"]) : undefined
  const rule = typeof id === "string" && id !== "" ? id.slice(0, 64) : undefined
  return { code, path: pathText(at), message, at, rule, isName }
}

/** The first `max` problems. */
export function problemsOf(
  set: unknown,
  issues: readonly Issue[],
  max: number,
  root: Path = [],
): FoundProblem[] {
  const problems: FoundProblem[] = []
  for (const issue of issues) {
    if (problems.length >= max) break
    problems.push(...problemsOfIssue(set, issue, max - problems.length, [...root, ...issue.path]))
  }
  return problems
}

function problemsOfIssue(set: unknown, issue: Issue, max: number, at: Path): FoundProblem[] {
  if (issue.code === "unrecognized_keys") {
    schema ??= ruleSetJsonSchema() as SchemaNode
    const fields = fieldsAt(schema, at)
    return issue.keys.slice(0, max).map((key) => {
      const guess = nearest(key, fields)
      const hint = guess === undefined ? "" : `; did you mean ${guess}?`
      return problemAt(set, "RULE_UNKNOWN_FIELD", [...at, key], `does not exist${hint}`, true)
    })
  }
  const found = valueAt(set, at)
  if (issue.code === "invalid_union" && found !== undefined) {
    // The author meant the branch whose outermost shape fits: report the problems inside it.
    const meant = issue.errors.find((errors) =>
      errors.every(({ code, path }) => path.length > 0 || code === "unrecognized_keys"),
    )
    if (meant !== undefined) return problemsOf(set, meant, max, at)
  }
  if (issue.code === "invalid_key") {
    return [problemAt(set, "RULE_FIELD_INVALID", at, "is not a valid name", true)]
  }
  const expected = expectation(issue)
  if (found === undefined)
    return [problemAt(set, "RULE_FIELD_INVALID", at, `is required and must be ${expected}`)]
  return [problemAt(set, "RULE_FIELD_INVALID", at, `must be ${expected}, got ${show(found)}`)]
}
