import { SluiceError } from "./errors.js"

/** Refuses anything that is no plain object of these fields, and guesses what a misspelt one was meant to be. */
export function checkFields(options: unknown, fields: readonly string[], place: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new SluiceError("OPTION_TYPE", { place, expected: "must be an object", found: options })
  }
  for (const field of Object.keys(options)) {
    if (fields.includes(field)) continue
    const guess = nearest(field, fields)
    throw new SluiceError("OPTION_UNKNOWN", {
      place: `${place}.${field}`,
      expected:
        guess === undefined ? `is not one of ${fields.join(", ")}` : `does not exist; did you mean ${guess}?`,
    })
  }
}

/** Refuses a value that was given and is not what it should be. */
export function checkType(
  value: unknown,
  place: string,
  expected: string,
  ok: (value: unknown) => boolean,
): void {
  if (value === undefined || ok(value)) return
  throw new SluiceError("OPTION_TYPE", { place, expected: `must be ${expected}`, found: value })
}

/** Refuses a value that was given and is none of these words. */
export function checkOneOf(value: unknown, words: readonly string[], place: string): void {
  checkType(value, place, `one of ${words.join(", ")}`, (word) => words.includes(word as string))
}

/** A test for objects that have these methods. */
export function hasMethods(...methods: string[]): (value: unknown) => boolean {
  return (value) =>
    typeof value === "object" &&
    value !== null &&
    methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function")
}

/** The word that a misspelt one was meant to be. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  for (const edits of [0, 1, 2]) {
    const found = known.find((candidate) => isNear(word.toLowerCase(), candidate.toLowerCase(), edits))
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether two words differ by at most so many letters changed, added or dropped. */
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
