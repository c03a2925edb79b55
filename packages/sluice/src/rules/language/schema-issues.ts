// Describes the issues that zod finds in a rule set, or in the configuration of the service.

import type { z } from "zod"
import { show } from "../../errors.js"

export type Path = readonly PropertyKey[]
export type Issue = z.core.$ZodIssue

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

/** What a value must be, to follow "must be". */
export function expectation(issue: Issue): string {
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
      : `a string of ${words} ${number} characters`
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

/** A JSON schema, as far as it says which fields exist. */
export interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: SchemaNode | boolean
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly allOf?: readonly SchemaNode[]
  readonly $ref?: string
  readonly definitions?: Record<string, SchemaNode>
}

/** The fields that exist at a path, to suggest the one that was meant. */
export function fieldsAt(root: SchemaNode, path: Path): string[] {
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
