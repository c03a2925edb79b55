// The parts of JSON Schema (draft 7) that the schema of rule sets uses, read for an editor: what may stand where.

import type { Path } from "./place.js"

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly definitions?: Readonly<Record<string, Schema>>
}

/** A field that a map may have. */
export interface Field {
  readonly name: string
  readonly description: string | undefined
  readonly isRequired: boolean
  /** What its value begins with, when it is written in lines: `list` of maps, `map`, or a value in the same line. */
  readonly shape: "value" | "map" | "list"
}

/** A schema together with the document that its references point into. */
export class SchemaReader {
  readonly #definitions: Readonly<Record<string, Schema>>
  readonly #root: Schema

  /** `part` is a path into the document, for an editor of only that: `["rules", 0]`. */
  constructor(document: Schema, part: Path = []) {
    this.#definitions = document.definitions ?? {}
    this.#root = document
    const [found] = this.#at(part)
    this.#root = found ?? {}
  }

  fieldsAt(path: Path): Field[] {
    const fields = new Map<string, Field>()
    for (const { properties = {}, required = [] } of this.#at(path)) {
      for (const [name, schema] of Object.entries(properties)) {
        if (fields.has(name) || name === "$schema") continue
        const { description, shape } = this.#about(schema)
        fields.set(name, { name, description, isRequired: required.includes(name), shape })
      }
    }
    return [...fields.values()]
  }

  /** The words that may stand at a path. */
  valuesAt(path: Path): string[] {
    const values = new Set<string>()
    for (const schema of this.#at(path)) {
      for (const value of schema.enum ?? (schema.const === undefined ? [] : [schema.const]))
        values.add(String(value))
      if (schema.type === "boolean" && schema.const === undefined) values.add("true").add("false")
    }
    return [...values]
  }

  descriptionAt(path: Path): string | undefined {
    return this.#at(path).find(({ description }) => description !== undefined)?.description
  }

  #about(schema: Schema): Pick<Field, "description" | "shape"> {
    const all = this.#alternatives(schema)
    const list = all.find(({ type }) => type === "array")
    const isListOfMaps = list?.items !== undefined && this.#alternatives(list.items).some(isMap)
    const isOnlyMap = all.every((one) => isMap(one) || one.anyOf !== undefined)
    return {
      description: all.find(({ description }) => description !== undefined)?.description,
      shape: isListOfMaps ? "list" : isOnlyMap ? "map" : "value",
    }
  }

  #at(path: Path): Schema[] {
    let here = this.#alternatives(this.#root)
    for (const step of path) here = here.flatMap((schema) => this.#step(schema, step))
    return here
  }

  #step(schema: Schema, step: string | number): Schema[] {
    if (typeof step === "number") return schema.items === undefined ? [] : this.#alternatives(schema.items)
    const { properties = {}, additionalProperties } = schema
    const found = Object.hasOwn(properties, step) ? properties[step] : additionalProperties
    return typeof found === "object" ? this.#alternatives(found) : []
  }

  /** A schema and all it may stand for, references resolved. */
  #alternatives(schema: Schema, depth = 0): Schema[] {
    if (depth > 8) return []
    const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema
    const target = $ref === undefined ? undefined : this.#definitions[$ref.replace("#/definitions/", "")]
    const others = [...anyOf, ...oneOf, ...allOf, ...(target === undefined ? [] : [target])]
    return [schema, ...others.flatMap((other) => this.#alternatives(other, depth + 1))]
  }
}

function isMap({ type, $ref, allOf }: Schema): boolean {
  return type === "object" || $ref !== undefined || allOf !== undefined
}
