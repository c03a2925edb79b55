// Turns the issues that zod finds into problems: one per mistake, with the place where the value was given.

import { type ErrorCode, SluiceError } from "sluice"
import { nearest } from "sluice/internal"
import type { z } from "zod"
import { isSecret, withoutLogin } from "./print.js"
import { configJsonSchema } from "./schema.js"
import { type ConfigProblem, pathText, unknownName } from "./setting.js"

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

type Issue = z.core.$ZodIssue

export function problemsOf(
  value: unknown,
  issues: readonly Issue[],
  placeOf: (path: readonly PropertyKey[]) => string,
): ConfigProblem[] {
  return issues.flatMap((issue): ConfigProblem[] => {
    const at = issue.path
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => {
        // The name is not shown: it may be a token in the wrong place.
        const shown = isSecret(at) && nearest(key, fieldsAt(at)) === undefined ? "…" : key
        const path = pathText([...at, shown])
        return { place: placeOf([...at, key]), path, message: unknownName(key, fieldsAt(at)) }
      })
    }
    const found = valueAt(value, at)
    const got = found === undefined ? "" : `, got ${show(found, at)}`
    const start = found === undefined ? "is required and must be" : "must be"
    return [{ place: placeOf(at), path: pathText(at), message: `${start} ${expectation(issue)}${got}` }]
  })
}

function show(value: unknown, path: readonly PropertyKey[]): string {
  if (Array.isArray(value)) return "a list"
  if (typeof value === "object" && value !== null) return "a map"
  if (isSecret(path) || String(path.at(-1)) === "url") return "something else"
  if (typeof value !== "string") return JSON.stringify(value)
  const text = withoutLogin(value)
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text)
}

function expectation(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return NAMES[issue.expected] ?? issue.expected
    case "invalid_value":
      return issue.values.length === 1
        ? String(issue.values[0])
        : `one of ${issue.values.map(String).join(", ")}`
    case "too_small":
      if (issue.origin === "array") return `a list of at least ${issue.minimum}`
      return issue.origin === "string" ? lengthOf("at least", issue.minimum) : `at least ${issue.minimum}`
    case "too_big":
      return issue.origin === "string" ? lengthOf("at most", issue.maximum) : `at most ${issue.maximum}`
    case "invalid_union":
      return 'milliseconds or text like "100ms", "10s", "1m"'
    default:
      return issue.message
  }
}

const NAMES: Readonly<Record<string, string>> = {
  string: "a string",
  array: "a list",
  object: "a map",
  record: "a map",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
}

function lengthOf(words: string, count: number | bigint): string {
  return Number(count) === 1 ? "a string that is not empty" : `a string of ${words} ${count} characters`
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return value
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly additionalProperties?: SchemaNode | boolean
  readonly $ref?: string
  readonly definitions?: Readonly<Record<string, SchemaNode>>
}

function fieldsAt(path: readonly PropertyKey[]): string[] {
  const root = configJsonSchema() as SchemaNode
  let node: SchemaNode | undefined = root
  for (const part of path) {
    node = typeof part === "number" ? node?.items : (node?.properties?.[String(part)] ?? anyOf(node))
    if (node?.$ref !== undefined) node = root.definitions?.[node.$ref.replace("#/definitions/", "")]
  }
  return Object.keys(node?.properties ?? {})
}

/** The schema of the values of a map, whose names are free. */
function anyOf(node: SchemaNode | undefined): SchemaNode | undefined {
  const values = node?.additionalProperties
  return typeof values === "object" ? values : undefined
}
