import { Mistakes, SluiceError } from "./errors.js"
import { counterpartOf } from "./foreign-options.js"

/**
 * Throws unless `options` is an object with no other fields than these. Suggests the field that a misspelt one resembles, or the
 * counterpart of another rate limiter's option.
 */
export function checkFields(options: unknown, fields: readonly string[], place: string): void {
  checkObject(options, place)
  const unknown = Object.keys(options as object).filter((field) => !fields.includes(field))
  if (unknown.length === 0) return
  const mistakes = new Mistakes()
  for (const field of unknown) {
    mistakes.add(unknownField(field, (options as Record<string, unknown>)[field], fields, place))
  }
  mistakes.throwAll()
}

/** Throws unless the value is an object that is no list. */
export function checkObject(value: unknown, place: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrongType(place, "an object", value)
}

/** Throws unless the value is a list. */
export function checkList(value: unknown, place: string): void {
  if (!Array.isArray(value)) throw wrongType(place, "a list", value)
}

function unknownField(field: string, value: unknown, fields: readonly string[], place: string): SluiceError {
  const near = nearest(field, fields)
  const guess = counterpartOf(field, value, fields) ?? (near && `did you mean ${near}?`)
  return new SluiceError("OPTION_UNKNOWN", {
    place: `${place}.${field}`,
    expected: guess === undefined ? `is not one of ${fields.join(", ")}` : `does not exist; ${guess}`,
  })
}

/** Throws if the value is defined and `ok` returns false for it. */
export function checkType(
  value: unknown,
  place: string,
  expected: string,
  ok: (value: unknown) => boolean,
): void {
  if (value === undefined || ok(value)) return
  throw wrongType(place, expected, value)
}

/** `expected` follows "must be". */
export function wrongType(place: string, expected: string, found: unknown): SluiceError {
  return new SluiceError("OPTION_TYPE", { place, expected: `must be ${expected}`, found })
}

/** Throws if the value is defined and is no function. */
export function checkFunction(value: unknown, place: string): void {
  checkType(value, place, "a function", isFunction)
}

export function isFunction(value: unknown): boolean {
  return typeof value === "function"
}

export function isFilledText(value: unknown): boolean {
  return typeof value === "string" && value !== ""
}

/** Throws if the value is defined and is none of these words. */
export function checkOneOf(value: unknown, words: readonly string[], place: string): void {
  checkType(value, place, `one of ${words.join(", ")}`, (word) => words.includes(word as string))
}

/** A predicate for objects with these methods. */
export function hasMethods(...methods: string[]): (value: unknown) => boolean {
  return (value) =>
    typeof value === "object" &&
    value !== null &&
    methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function")
}

/** The known word that differs from a misspelt one by at most two edits, if any. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  for (const edits of [0, 1, 2]) {
    const found = known.find((candidate) => isNear(word.toLowerCase(), candidate.toLowerCase(), edits))
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether at most `edits` letters must be changed, added or removed to turn one word into the other. */
function isNear(a: string, b: string, edits: number): boolean {
  let same = 0
  while (same < a.length && a[same] === b[same]) same++
  const restA = a.slice(same)
  const restB = b.slice(same)
  if (restA === restB) return true
  if (edits === 0) return false
  const [nextA, nextB] = [restA.slice(1), restB.slice(1)]
  return isNear(nextA, nextB, edits - 1) || isNear(nextA, restB, edits - 1) || isNear(restA, nextB, edits - 1)
}
