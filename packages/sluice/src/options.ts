import { SluiceError } from "./errors.js"

/** Refuses anything that is no plain object of these fields, and guesses what a misspelt one was meant to be. */
export function checkFields(options: unknown, fields: readonly string[], place: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new SluiceError("OPTION_TYPE", { place, expected: "must be an object", found: options })
  }
  for (const field of Object.keys(options)) {
    if (fields.includes(field)) continue
    const guess = fields.find((known) => isNear(field.toLowerCase(), known.toLowerCase()))
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

/** A test for objects that have these methods. */
export function hasMethods(...methods: string[]): (value: unknown) => boolean {
  return (value) =>
    typeof value === "object" &&
    value !== null &&
    methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function")
}

/** Whether two words differ by at most two letters changed, added, dropped or swapped. */
function isNear(a: string, b: string): boolean {
  if (b.startsWith(a) || a.startsWith(b)) return true
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next[j] = Math.min(changed, (row[j] as number) + 1, (next[j - 1] as number) + 1)
    }
    row = next
  }
  return (row[b.length] as number) <= 2
}
