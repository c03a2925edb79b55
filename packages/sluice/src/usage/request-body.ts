// What the body of a request says about its cost: the tokens that it asks for, its model, its length.

import { type FieldNode, JsonScanner } from "./json-scanner.js"

/** The fields of a request's body. */
export interface BodyFields {
  /**
   * The largest value of each field. A body may have a field twice, in other letters too, and servers differ in which one they
   * take.
   */
  readonly numbers: ReadonlyMap<string, number>
  readonly texts: ReadonlyMap<string, readonly string[]>
  /** Whether the body was an object and was read to its end. */
  readonly isWhole: boolean
}

/** Texts of one field that are kept. */
const MAX_TEXTS = 4

/** Reads a body: the bytes or the text of JSON, or its value. Never throws. */
export function readBody(body: unknown, tree: FieldNode): BodyFields {
  const found = new Found()
  if (typeof body === "string") return scan(new TextEncoder().encode(body), tree, found)
  if (body instanceof Uint8Array) return scan(body, tree, found)
  if (body instanceof ArrayBuffer) return scan(new Uint8Array(body), tree, found)
  if (isObject(body)) {
    walk(body, tree, found)
    found.isWhole = true
  }
  return found
}

/** The length of a body in bytes; undefined for one that was parsed before. */
export function lengthOfBody(body: unknown): number | undefined {
  if (typeof body === "string") return new TextEncoder().encode(body).length
  return body instanceof Uint8Array || body instanceof ArrayBuffer ? body.byteLength : undefined
}

class Found implements BodyFields {
  readonly numbers = new Map<string, number>()
  readonly texts = new Map<string, string[]>()
  isWhole = false

  found(field: string, value: number | string): void {
    if (typeof value === "number") {
      this.numbers.set(field, Math.max(value, this.numbers.get(field) ?? 0))
      return
    }
    const texts = this.texts.get(field) ?? []
    this.texts.set(field, texts)
    if (texts.length < MAX_TEXTS) texts.push(value)
    // Nobody sends so many by mistake.
    else this.isOverfull = true
  }

  isOverfull = false

  ended(): void {
    this.isWhole = true
  }
}

function scan(bytes: Uint8Array, tree: FieldNode, found: Found): BodyFields {
  const scanner = new JsonScanner(tree, found)
  scanner.write(bytes)
  found.isWhole &&= scanner.isWhole && !found.isOverfull
  return found
}

function walk(value: object, node: FieldNode, found: Found): void {
  for (const [name, inner] of Object.entries(value)) {
    const child = node.children.get(name.toLowerCase())
    if (child === undefined) continue
    if (isObject(inner)) walk(inner, child, found)
    else if (typeof inner === "string" || (typeof inner === "number" && inner >= 0 && inner <= 1e15))
      for (const field of child.fields) found.found(field, inner)
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
