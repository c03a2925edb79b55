import { expect } from "vitest"
import type { ErrorCode } from "../errors.js"
import { SluiceError } from "../errors.js"

export interface Mistake {
  code: ErrorCode
  place: string
  /** What the message must say. */
  says: string | RegExp
  found?: unknown
}

export function expectMistake(error: unknown, { code, place, says, found }: Mistake): void {
  expect(error).toBeInstanceOf(SluiceError)
  expect(error).toMatchObject({ name: "SluiceError", code, place })
  const { message, expected } = error as SluiceError
  expect(message).toContain(place)
  expect(message).toContain(expected)
  expect(message).toContain(code)
  expect(message).toMatch(says)
  if (found !== undefined) expect(error).toMatchObject({ found })
}
