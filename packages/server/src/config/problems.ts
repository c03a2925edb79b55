// Turns the issues that zod finds into problems: one per mistake, with the place where the value was given.

import { type ErrorCode, SluiceError } from "sluice"
import { nearest } from "sluice/internal"
import {
  expectation,
  fieldsAt,
  type Issue,
  type Path,
  pathText,
  type SchemaNode,
  valueAt,
} from "sluice/internal/rules"
import { isSecret, withoutLogin } from "./print.js"
import { configJsonSchema } from "./schema.js"
import { type ConfigProblem, unknownName } from "./setting.js"

/** A configuration that was refused, with all its mistakes. */
export class ConfigError extends SluiceError {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    const count = problems.length === 1 ? "1 mistake" : `${problems.length} mistakes`
    const code: ErrorCode = "CONFIG_INVALID"
    super(code, { place: "configuration", expected: `${count}\n${problems.map(describe).join("\n")}\n` })
    this.problems = problems
  }
}

function describe({ place, path, message }: ConfigProblem): string {
  return `  ${[place, path, message].filter((part) => part !== "").join(" ")}`
}

export function problemsOf(
  value: unknown,
  issues: readonly Issue[],
  placeOf: (path: Path) => string,
): ConfigProblem[] {
  return issues.flatMap((issue): ConfigProblem[] => {
    const at = issue.path
    if (issue.code === "unrecognized_keys") {
      const known = fieldsAt(configJsonSchema() as SchemaNode, at)
      return issue.keys.map((key) => {
        // The name is not shown: it may be a token in the wrong place.
        const shown = isSecret(at) && nearest(key, known) === undefined ? "…" : key
        const path = pathText([...at, shown])
        return { place: placeOf([...at, key]), path, message: unknownName(key, known) }
      })
    }
    const found = valueAt(value, at)
    const got = found === undefined ? "" : `, got ${show(found, at)}`
    const start = found === undefined ? "is required and must be" : "must be"
    return [{ place: placeOf(at), path: pathText(at), message: `${start} ${expectationOf(issue)}${got}` }]
  })
}

function show(value: unknown, path: Path): string {
  if (Array.isArray(value)) return "a list"
  if (typeof value === "object" && value !== null) return "a map"
  if (isSecret(path) || String(path.at(-1)) === "url") return "something else"
  if (typeof value !== "string") return JSON.stringify(value)
  const text = withoutLogin(value)
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text)
}

function expectationOf(issue: Issue): string {
  if (issue.code === "invalid_union") return 'milliseconds or text like "100ms", "10s", "1m"'
  // Not every number is an integer here.
  if (issue.code === "too_small" && issue.origin === "number") return `at least ${issue.minimum}`
  if (issue.code === "too_big" && issue.origin === "number") return `at most ${issue.maximum}`
  return expectation(issue)
}
