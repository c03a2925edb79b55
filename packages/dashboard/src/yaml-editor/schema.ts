// Reads the parts of JSON Schema (draft 7) that the schema of rule sets uses, to tell an editor what is allowed where.

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

/** A field that the schema allows in a map. */
export interface Field {
  readonly name: string
  readonly description: string | undefined
  readonly isRequired: boolean
  /** How its value is written: on the same line, or below it as a map or as a list of maps. */
  readonly shape: "value" | "map" | "list"
}

/** Answers questions about a schema and resolves its references. */
export class SchemaReader {
  readonly #definitions: Readonly<Record<string, Schema>>
  readonly #root: Schema

  /** `part` is the path of the value that is edited, if that is not a whole rule set: `["rules", 0]` for a single rule. */
  constructor(document: Schema, part: Path = []) {
    this.#definitions = document.definitions ?? {}
    this.#root = document
    const [found] = this.#at(part)
    this.#root = found ?? {}
  }

  /** The fields that the schema allows in the map at a path. */
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

  /** The constants that the schema allows at a path. */
  valuesAt(path: Path): string[] {
    const values = new Set<string>()
    for (const schema of this.#at(path)) {
      for (const value of schema.enum ?? (schema.const === undefined ? [] : [schema.const]))
        values.add(String(value))
      if (schema.type === "boolean" && schema.const === undefined) values.add("true").add("false")
    }
    return [...values]
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

  /** The schema itself and all its alternatives, with references resolved. */
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
