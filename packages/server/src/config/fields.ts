// Lists every setting with its path, flag and environment variable. The list comes from the schema, so it is complete.

import { configJsonSchema } from "./schema.js"

export type FieldKind = "text" | "number" | "boolean" | "list" | "map"

export interface Field {
  readonly path: readonly string[]
  readonly kind: FieldKind
  /** `--store.max-keys` */
  readonly flag: string
  /** `SLUICE_STORE__MAX_KEYS` */
  readonly variable: string
  readonly description: string | undefined
  readonly byDefault: unknown
}

interface Node {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly anyOf?: readonly Node[]
  readonly description?: string
  readonly default?: unknown
}

let known: readonly Field[] | undefined

export function fields(): readonly Field[] {
  known ??= [...leaves(configJsonSchema() as Node, [])]
  return known
}

function* leaves(node: Node, path: readonly string[]): Generator<Field> {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    if (name === "$schema") continue
    const at = [...path, name]
    if (child.properties !== undefined) yield* leaves(child, at)
    else {
      yield {
        path: at,
        kind: kindOf(child),
        flag: `--${at.map((part) => snake(part, "-")).join(".")}`,
        variable: `SLUICE_${at.map((part) => snake(part, "_").toUpperCase()).join("__")}`,
        description: child.description,
        byDefault: child.default,
      }
    }
  }
}

function kindOf(node: Node): FieldKind {
  switch (node.type ?? node.anyOf?.[0]?.type) {
    case "integer":
    case "number":
      return "number"
    case "boolean":
      return "boolean"
    case "array":
      return "list"
    case "object":
      return "map"
    default:
      return "text"
  }
}

function snake(name: string, joint: string): string {
  return name.replace(/[A-Z]/g, (letter) => `${joint}${letter.toLowerCase()}`)
}

/**
 * Converts the text of a flag or variable to the type in the schema. Text that cannot be converted stays text, and the schema
 * then reports what it expected.
 */
export function parseValue(text: string, kind: FieldKind): unknown {
  const trimmed = text.trim()
  if (kind === "number" && /^-?\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed)
  if (kind === "boolean" && /^(true|false)$/.test(trimmed)) return trimmed === "true"
  if (kind === "map" || (kind === "list" && trimmed.startsWith("["))) {
    try {
      return JSON.parse(trimmed)
    } catch {
      return text
    }
  }
  if (kind === "list") return trimmed === "" ? [] : trimmed.split(",").map((part) => part.trim())
  return text
}
