// JSON from outside, into plain values that nothing later can trip over.

import { SluiceError } from "sluice"
import { notJson, parseJson } from "../http/body.js"

export type JsonObject = Readonly<Record<string, unknown>>

/** Names that mean something else than a field to an object of JavaScript. */
const FORBIDDEN = ["__proto__", "constructor", "prototype"]
/** No rule set needs more than about 8. */
const DEEPEST = 32

export function parseChecked(bytes: Buffer): unknown {
  const value = parseJson(bytes)
  checkNames(value, DEEPEST)
  return value
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function checkNames(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return
  if (depth === 0) throw notJson(`it must not be nested deeper than ${DEEPEST}`)
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
