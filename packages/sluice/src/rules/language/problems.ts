// Translates the issues of zod into problems: each has its place, what was expected and what was found.

import type { z } from "zod"
import { show } from "../../errors.js"
import { nearest } from "../../options.js"
import type { RuleProblem } from "./rule-set-error.js"
import { ruleSetJsonSchema } from "./schema.js"

export type Path = readonly PropertyKey[]
type Issue = z.core.$ZodIssue

/** A longer name is cut: it could be as long as the whole set, and is part of every path below it. */
const MAX_NAME = 100

/** `["rules", 0, "match"]` → `rules[0].match`. */
export function pathText(path: Path): string {
  let text = ""
  for (const part of path) {
    const name = String(part)
    const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name
    if (typeof part === "number") text += `[${part}]`
    else if (/^[\w$-]+$/.test(shown)) text += `${text === "" ? "" : "."}${shown}`
    else text += `[${JSON.stringify(shown)}]`
  }
  return text
}

/** The value at a path, or undefined. */
export function valueAt(value: unknown, path: Path): unknown {
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return value
}

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
    const fields = fieldsAt(at)
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

function expectation(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return article(issue.expected === "int" ? "integer" : issue.expected)
    case "invalid_value":
      return issue.values.length === 1
        ? show(issue.values[0])
        : `one of ${issue.values.map((value) => String(value)).join(", ")}`
    case "too_small":
      return bound(issue.origin, "≥", issue.minimum, "at least")
    case "too_big":
      return bound(issue.origin, "≤", issue.maximum, "at most")
    case "invalid_union":
      return [...new Set(issue.errors.flatMap((errors) => errors.slice(0, 1).map(expectation)))].join(" or ")
    default:
      return issue.message
  }
}

function bound(origin: string, sign: string, number: number | bigint, words: string): string {
  if (origin === "string")
    return number === 1 && sign === "≥"
      ? "a string that is not empty"
      : `a text of ${words} ${number} characters`
  if (origin === "array") return `a list of ${words} ${number}`
  return `an integer ${sign} ${number}`
}

function article(type: string): string {
  const names: Record<string, string> = {
    string: "a string",
    array: "a list",
    object: "a map",
    record: "a map",
    number: "a number",
    integer: "an integer",
    boolean: "true or false",
  }
  return names[type] ?? type
}

interface SchemaNode {
  readonly properties?: Record<string, SchemaNode>
  readonly additionalProperties?: SchemaNode | boolean
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
  readonly $ref?: string
  readonly definitions?: Record<string, SchemaNode>
}

/** Created with the first problem: it takes a millisecond. */
let schema: SchemaNode | undefined

/** The fields that exist at a path, to suggest the one that was meant. */
function fieldsAt(path: Path): string[] {
  schema ??= ruleSetJsonSchema() as SchemaNode
  const root = schema
  const resolve = (node: SchemaNode): SchemaNode[] => {
    if (node.$ref !== undefined) {
      const target = root.definitions?.[node.$ref.replace("#/definitions/", "")]
      return target === undefined ? [] : resolve(target)
    }
    const parts = node.anyOf ?? node.allOf
    return parts === undefined ? [node] : parts.flatMap(resolve)
  }
  let nodes = resolve(root)
  for (const part of path) {
    nodes = nodes.flatMap((node) => {
      if (typeof part === "number") return node.items === undefined ? [] : resolve(node.items)
      const named = node.properties?.[String(part)]
      if (named !== undefined) return resolve(named)
      return typeof node.additionalProperties === "object" ? resolve(node.additionalProperties) : []
    })
  }
  return nodes.flatMap((node) => Object.keys(node.properties ?? {}))
}
