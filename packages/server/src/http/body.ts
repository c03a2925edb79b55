import { isUtf8 } from "node:buffer"
import { SluiceError } from "sluice"

/**
 * A client that is still sending would see a broken connection instead of the answer. So a body that is too large is read to
 * its end and dropped, unless it is larger than this.
 */
export const MAX_DISCARDED_BYTES = 4 * 1_048_576

export function tooLarge(maxBytes: number): SluiceError {
  return new SluiceError("BODY_TOO_LARGE", { place: "body", expected: `may have ${maxBytes} bytes at most` })
}

/** Parses the body as a JSON object. Does not check its fields. */
export function parseObject(body: Buffer, example: string): Record<string, unknown> {
  const value = parseJson(body)
  if (isObject(value)) return value
  throw new SluiceError("BODY_NOT_OBJECT", {
    place: "body",
    expected: `must be a JSON object such as ${example}`,
    found: value,
  })
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function parseJson(body: Buffer): unknown {
  const text = body.toString("utf8")
  // Invalid bytes all decode to U+FFFD, so that two different keys would become one.
  if (text.includes("\uFFFD") && !isUtf8(body)) throw notJson("it is not UTF-8")
  try {
    return JSON.parse(text)
  } catch (error) {
    throw notJson(text === "" ? "it is empty" : (error as SyntaxError).message)
  }
}

export function notJson(reason: string): SluiceError {
  return new SluiceError("BODY_INVALID_JSON", { place: "body", expected: `must be JSON: ${reason}` })
}
