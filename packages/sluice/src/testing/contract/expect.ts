// The assertions of the contract. The package has its own, so that it depends on no test runner.

import { type ErrorCode, SluiceError } from "../../errors.js"

/** Thrown if a store breaks the contract. Test runners show `actual` beside `expected`. */
export class ContractBroken extends Error {
  override readonly name = "ContractBroken"
  readonly actual: unknown
  readonly expected: unknown

  constructor(what: string, actual: unknown, expected: unknown) {
    super(`${what}: expected ${show(expected)}, got ${show(actual)}`)
    this.actual = actual
    this.expected = expected
  }
}

export function expectSame(actual: unknown, expected: unknown, what: string): void {
  if (!isSame(actual, expected)) throw new ContractBroken(what, actual, expected)
}

/** Compares only the fields that `expected` has. */
export function expectFields<T extends object>(actual: T, expected: Partial<T>, what: string): void {
  const seen: Partial<T> = {}
  for (const field of Object.keys(expected) as (keyof T)[]) seen[field] = actual[field]
  expectSame(seen, expected, what)
}

export function expectTrue(condition: boolean, what: string): void {
  if (!condition) throw new ContractBroken(what, false, true)
}

export async function expectRejection(
  call: () => Promise<unknown>,
  code: ErrorCode,
  what: string,
): Promise<void> {
  let outcome: unknown
  try {
    outcome = await call()
  } catch (error) {
    outcome = error instanceof SluiceError ? error.code : error
  }
  expectSame(outcome, code, what)
}

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every((key) => key in b && isSame(a[key as keyof typeof a], b[key as keyof typeof b]))
}

/** Formats a value. JSON would hide Infinity, NaN and undefined. */
function show(value: unknown): string {
  if (value instanceof Error) return String(value)
  if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`
  if (typeof value === "object" && value !== null) {
    return `{ ${Object.entries(value)
      .map(([key, field]) => `${key}: ${show(field)}`)
      .join(", ")} }`
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value)
}
