// What a header or a query parameter must be: a value, letter by letter, or a glob.

import { SluiceError } from "../../errors.js"
import { type Glob, globOf, LONGEST_GLOB, matchesGlob } from "./glob.js"

export type ValuePattern = string | Glob

const LONGEST_VALUE = 1_024
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
const CONTROL = /[\0-\x1f\x7f]/

export function parseValuePattern(text: string, place: string): ValuePattern {
  const refuse = (expected: string): never => {
    throw new SluiceError("PATTERN_INVALID", { place, expected, found: text })
  }
  if (typeof text !== "string") refuse("must be text")
  if (CONTROL.test(text)) refuse("must not have control characters")
  const isGlob = text.includes("*")
  if (isGlob && text.length > LONGEST_GLOB) refuse(`must have at most ${LONGEST_GLOB} characters with a *`)
  if (text.length > LONGEST_VALUE) refuse("must have at most 1,024 characters")
  return isGlob ? globOf(text) : text
}

export function matchesValue(pattern: ValuePattern, value: string): boolean {
  return typeof pattern === "string" ? pattern === value : matchesGlob(pattern, value)
}
