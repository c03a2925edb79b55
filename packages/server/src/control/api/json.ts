// JSON of request bodies: reading it safely, and applying merge patches.

import { SluiceError } from "sluice"
import { isObject, notJson, parseJson } from "../../http/body.js"

export type JsonObject = Readonly<Record<string, unknown>>
export type JsonSchema = Readonly<Record<string, unknown>>

/** Field names with a special meaning for JavaScript objects. */
const FORBIDDEN = ["__proto__", "constructor", "prototype"]
/** Rule sets need about 8 levels. */
const MAX_DEPTH = 32

export function parseChecked(bytes: Buffer): unknown {
  const value = parseJson(bytes)
  checkNames(value, MAX_DEPTH)
  return value
}

function checkNames(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return
  if (depth === 0) throw notJson(`it must not be nested deeper than ${MAX_DEPTH}`)
  if (Array.isArray(value)) {
    for (const item of value) checkNames(item, depth - 1)
    return
  }
  for (const name in value) {
    if (FORBIDDEN.includes(name)) {
      throw new SluiceError("BODY_UNKNOWN_FIELD", {
        place: "body",
        expected: `must not have a field ${name}`,
      })
    }
    checkNames((value as JsonObject)[name], depth - 1)
  }
}

/** Applies a merge patch (RFC 7396): null removes a field, and a list replaces the whole list. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else merged[name] = mergePatch(merged[name], value)
  }
  return merged
}
