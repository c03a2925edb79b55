// JSON from outside, into plain values that nothing later can trip over.

import { isUtf8 } from "node:buffer"
import { SluiceError } from "sluice"

export type JsonObject = Readonly<Record<string, unknown>>

/** Names that mean something else than a field to an object of JavaScript. */
const FORBIDDEN = ["__proto__", "constructor", "prototype"]
/** No rule set needs more than about 8. */
const DEEPEST = 32

export function parseJson(bytes: Buffer): unknown {
  // Bytes that are no text all read as the same character, and two names would be one.
  if (!isUtf8(bytes)) throw notJson("it is not UTF-8")
  const text = bytes.toString("utf8")
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw notJson(text === "" ? "it is empty" : (error as SyntaxError).message)
  }
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

function notJson(reason: string): SluiceError {
  return new SluiceError("BODY_INVALID_JSON", { place: "body", expected: `must be JSON: ${reason}` })
}
