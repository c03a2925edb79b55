// Lists every setting with its path, flag and environment variable. The list comes from the schema, so it is complete.

import { z } from "zod"
import { configSchema } from "./schema.js"

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

let known: readonly Field[] | undefined

export function fields(): readonly Field[] {
  known ??= [...leaves(configSchema, [])]
  return known
}

/** Reads the schema itself: a start of the service would take 15 ms longer if it made the JSON Schema first. */
function* leaves(object: z.ZodObject, path: readonly string[]): Generator<Field> {
  for (const [name, schema] of Object.entries(object.shape)) {
    if (name === "$schema") continue
    const at = [...path, name]
    const { inner, description, byDefault } = unwrap(schema as z.ZodType)
    if (inner instanceof z.ZodObject) yield* leaves(inner, at)
    else {
      yield {
        path: at,
        kind: kindOf(inner),
        flag: `--${at.map((part) => snake(part, "-")).join(".")}`,
        variable: `SLUICE_${at.map((part) => snake(part, "_").toUpperCase()).join("__")}`,
        description,
        byDefault,
      }
    }
  }
}

/** The type of what is written, and what the schemas around it say. */
function unwrap(schema: z.ZodType): { inner: z.ZodType; description?: string; byDefault?: unknown } {
  const { description } = schema
  let found: ReturnType<typeof unwrap> = { inner: schema }
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    found = { ...unwrap(schema.unwrap() as z.ZodType), byDefault: schema.def.defaultValue }
  } else if (schema instanceof z.ZodOptional) found = unwrap(schema.unwrap() as z.ZodType)
  else if (schema instanceof z.ZodPipe) found = unwrap(schema.in as z.ZodType)
  return description === undefined ? found : { ...found, description }
}

function kindOf(schema: z.ZodType): FieldKind {
  if (schema instanceof z.ZodUnion) return kindOf(unwrap(schema.options[0] as z.ZodType).inner)
  if (schema instanceof z.ZodNumber) return "number"
  if (schema instanceof z.ZodBoolean) return "boolean"
  if (schema instanceof z.ZodArray) return "list"
  return schema instanceof z.ZodRecord ? "map" : "text"
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
