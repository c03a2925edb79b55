// Patterns for the value of a header, a query parameter or a descriptor entry: the exact value, or a glob with `*`.

import { SluiceError } from "../../errors.js"

/** A text that a value must equal, or a glob. */
export type ValuePattern = string | Glob

/** A text with `*` in it. Each star stands for any number of characters. */
export interface Glob {
  readonly text: string
  /** The text before the first star. */
  readonly prefix: string
  /** The texts between the stars, without the empty ones. */
  readonly middle: readonly string[]
  /** The text after the last star. */
  readonly suffix: string
}

/**
 * The maximum length of a glob. In the worst case, a search for one piece takes the length of the piece times the length of
 * the text. With this bound, matching a header of 16 KB takes less than a millisecond.
 */
export const MAX_GLOB_LENGTH = 256
const MAX_VALUE_LENGTH = 1_024
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern refuses control characters
const CONTROL = /[\0-\x1f\x7f]/

/** Throws PATTERN_INVALID, with `place` as the place of the mistake, if the pattern is too long or has control characters. */
export function parseValuePattern(text: string, place: string): ValuePattern {
  const refuse = (expected: string): never => {
    throw new SluiceError("PATTERN_INVALID", { place, expected, found: text })
  }
  if (typeof text !== "string") refuse("must be text")
  if (CONTROL.test(text)) refuse("must not have control characters")
  const isGlob = text.includes("*")
  if (isGlob && text.length > MAX_GLOB_LENGTH)
    refuse(`must have at most ${MAX_GLOB_LENGTH} characters if it has a *`)
  if (text.length > MAX_VALUE_LENGTH) refuse("must have at most 1,024 characters")
  return isGlob ? parseGlob(text) : text
}

export function matchesValue(pattern: ValuePattern, value: string): boolean {
  return typeof pattern === "string" ? pattern === value : matchesGlob(pattern, value)
}

/** Splits a text that has at least one star. */
export function parseGlob(text: string): Glob {
  const pieces = text.split("*")
  return {
    text,
    prefix: pieces[0] as string,
    middle: pieces.slice(1, -1).filter((piece) => piece !== ""),
    suffix: pieces.at(-1) as string,
  }
}

/**
 * Searches the text once from left to right and takes the first place where each piece occurs. A later place could only leave
 * less text for the next pieces, so there is no backtracking.
 */
export function matchesGlob({ prefix, middle, suffix }: Glob, text: string): boolean {
  const end = text.length - suffix.length
  let at = prefix.length
  if (at > end || !text.startsWith(prefix) || !text.endsWith(suffix)) return false
  for (const piece of middle) {
    const found = text.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
    if (at > end) return false
  }
  return true
}
