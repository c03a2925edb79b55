// Path patterns:
//
//   /users/me      matches exactly these segments
//   /users/:id     `:name` matches exactly one segment and captures it
//   /files/*.png   `*` matches any number of characters within one segment
//   /v1/**         `**` matches any number of segments, including none, at the end or in the middle
//
// To match one of the characters `:` and `*` itself, a pattern has it percent-encoded: `%3A`, `%2A`.
//
// Backends treat several spellings of a canonical path as the same path: `/Login`, `/login/`, `/login;v=1`, and `/a%2Bb` for
// `/a+b`. So that no spelling escapes a limit, patterns and paths are compared in one form: ASCII letters in lower case, no
// empty segments, no `;parameters`, and no percent-encoding of printable ASCII characters. If a backend does distinguish two
// such spellings, both count against one limit.

import { SluiceError } from "../../errors.js"
import { type Glob, MAX_GLOB_LENGTH, matchesGlob, parseGlob } from "./value-pattern.js"

export type PathSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "glob"; readonly glob: Glob }
  | { readonly kind: "param"; readonly name: string }

export interface PathPattern {
  /** The pattern as it is written. */
  readonly text: string
  /** Equal for two patterns exactly if they differ only in the names of their parameters and in the spelling of literals. */
  readonly form: string
  /** The segments between the `**`: a pattern without `**` has one run, a pattern with n of them has n + 1. */
  readonly runs: readonly (readonly PathSegment[])[]
  /** Where the parameters are: the index of the run, and the offset in it. */
  readonly params: readonly { readonly name: string; readonly run: number; readonly offset: number }[]
}

const MAX_PATTERN_LENGTH = 1_024
const MAX_SEGMENTS = 32
/** The characters that a segment of a pattern may have. A canonical path has all others percent-encoded, or not at all. */
const ALLOWED = /^[\w\-.~!$&'()*+,=:@%"<>[\]^`{|}\u{a0}-\u{d7ff}\u{e000}-\u{10ffff}]*$/u
const BEYOND_ASCII = /[^\0-\x7f]+/g
const PARAM_NAME = /^[A-Za-z_]\w*$/

type Refuse = (expected: string) => never

/**
 * Throws PATTERN_INVALID, with `place` as the place of the mistake, for a pattern that could never match a canonical path, or
 * that would match other paths than it seems to.
 */
export function parsePathPattern(text: string, place: string): PathPattern {
  const refuse: Refuse = (expected) => {
    throw new SluiceError("PATTERN_INVALID", { place, expected, found: text })
  }
  if (typeof text !== "string" || !text.startsWith("/")) refuse('must start with "/"')
  if (text.length > MAX_PATTERN_LENGTH) refuse("must have at most 1,024 characters")
  if (text.includes("?")) refuse('must not have a "?": use query for what follows it')
  const segments = text.slice(1).split("/")
  if (segments.at(-1) === "") segments.pop()
  if (segments.length > MAX_SEGMENTS) refuse(`must have at most ${MAX_SEGMENTS} segments`)

  const runs: PathSegment[][] = [[]]
  const params: { name: string; run: number; offset: number }[] = []
  for (const segment of segments) {
    const run = runs.at(-1) as PathSegment[]
    if (segment === "**") {
      // `/**/**` matches the same paths as `/**`.
      if (runs.length === 1 || run.length > 0) runs.push([])
      continue
    }
    const parsed = parseSegment(segment, refuse)
    if (parsed.kind === "param") {
      const { name } = parsed
      if (params.some((param) => param.name === name)) refuse(`must not have the parameter :${name} twice`)
      params.push({ name, run: runs.length - 1, offset: run.length })
    }
    run.push(parsed)
  }
  const form = runs.map((run) => run.map(formOf).join("/")).join("/**/")
  return { text, form, runs, params }
}

function parseSegment(segment: string, refuse: Refuse): PathSegment {
  if (segment === "") refuse("must not have empty segments")
  if (segment === "." || segment === "..") refuse('must not have "." or ".." as a segment')
  if (segment.includes("**")) refuse("must have ** as a whole segment")
  if (segment.includes(";")) refuse('must not have a ";": what follows it in a segment is not compared')
  if (!ALLOWED.test(segment)) refuse("must not have spaces, control characters, backslashes or #")
  checkTriplets(segment, refuse)
  if (segment.startsWith(":")) return parseParam(segment.slice(1), refuse)

  const text = asciiLowerCase(segment.replace(BEYOND_ASCII, encodeURIComponent))
  if (!text.includes("*")) return { kind: "literal", text: decodePrintable(text) }
  if (text.length > MAX_GLOB_LENGTH)
    refuse(`must have at most ${MAX_GLOB_LENGTH} characters in a segment with *`)
  // Splitting at the stars comes before decoding, so that `%2A` is a literal star.
  const { prefix, middle, suffix } = parseGlob(text)
  return {
    kind: "glob",
    glob: {
      text,
      prefix: decodePrintable(prefix),
      middle: middle.map(decodePrintable),
      suffix: decodePrintable(suffix),
    },
  }
}

function parseParam(name: string, refuse: Refuse): PathSegment {
  if (!PARAM_NAME.test(name))
    refuse("must have a name of letters, digits and _ after a : that starts a segment")
  if (name in Object.prototype) refuse(`must not name a parameter ${name}`)
  return { kind: "param", name }
}

/** Refuses percent-encodings that no canonical path has. */
function checkTriplets(segment: string, refuse: Refuse): void {
  for (const [triplet, hex = ""] of segment.matchAll(/%(.{0,2})/g)) {
    if (!/^[0-9A-F]{2}$/.test(hex)) refuse("must have two hexadecimal digits, in upper case, after a %")
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    if (/[\w.~-]/.test(character)) refuse(`must have ${character} instead of ${triplet}`)
    if (character < " " || character === "\x7f" || character === "\\") refuse(`must not have ${triplet}`)
  }
  if (/%25[0-9A-Fa-f]{2}/.test(segment)) refuse("must not be encoded twice")
}

function formOf(segment: PathSegment): string {
  if (segment.kind === "param") return ":"
  return segment.kind === "glob" ? `*${segment.glob.text}` : `=${segment.text}`
}

/**
 * Splits a canonical path into its segments in the form in which they are compared, except that letters keep their case:
 * parameters capture these segments.
 */
export function pathSegments(path: string): string[] {
  const segments: string[] = []
  for (let start = 0; start < path.length; ) {
    const slash = path.indexOf("/", start)
    const end = slash < 0 ? path.length : slash
    const segment = bareSegment(path.slice(start, end))
    if (segment !== "") segments.push(segment)
    start = end + 1
  }
  return segments
}

function bareSegment(segment: string): string {
  const semicolon = segment.indexOf(";")
  return decodePrintable(semicolon < 0 ? segment : segment.slice(0, semicolon))
}

/**
 * Decodes percent-encoded printable ASCII characters, except slash, backslash and percent, which would get another meaning.
 * Beyond ASCII, a canonical path has one spelling of each character already.
 */
function decodePrintable(text: string): string {
  if (!text.includes("%")) return text
  return text.replace(/%([2-7][0-9a-f])/gi, (triplet, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return "/\\%\x7f".includes(character) ? triplet : character
  })
}

/** Converts only ASCII letters: `toLowerCase` would turn the Kelvin sign into a `k`, and may change the length of a text. */
export function asciiLowerCase(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text
}

/**
 * Returns the index of the segment at which each run of the pattern begins, or undefined if the path does not match. Every
 * `**` except the last matches as few segments as possible. There is no backtracking: a run between two `**` always takes the
 * same number of segments, so a later place for it could only leave fewer segments for the runs that follow.
 */
export function matchPath(
  runs: PathPattern["runs"],
  segments: readonly string[],
): readonly number[] | undefined {
  const first = runs[0] as readonly PathSegment[]
  if (runs.length === 1)
    return segments.length === first.length && matchesRun(first, segments, 0) ? ONE_RUN : undefined
  const last = runs.at(-1) as readonly PathSegment[]
  const end = segments.length - last.length
  if (first.length > end || !matchesRun(first, segments, 0) || !matchesRun(last, segments, end))
    return undefined
  const starts = [0]
  let at = first.length
  for (let i = 1; i < runs.length - 1; i++) {
    const run = runs[i] as readonly PathSegment[]
    while (at + run.length <= end && !matchesRun(run, segments, at)) at++
    if (at + run.length > end) return undefined
    starts.push(at)
    at += run.length
  }
  starts.push(end)
  return starts
}

const ONE_RUN: readonly number[] = [0]

function matchesRun(run: readonly PathSegment[], segments: readonly string[], start: number): boolean {
  for (let i = 0; i < run.length; i++) {
    const wanted = run[i] as PathSegment
    const segment = segments[start + i] as string
    if (wanted.kind === "literal" && wanted.text !== segment) return false
    if (wanted.kind === "glob" && !matchesGlob(wanted.glob, segment)) return false
  }
  return true
}

/**
 * Returns the segments that parameters capture. `runStarts` is the result of `matchPath`. The object has no
 * prototype, so that a lookup of any other name, such as `constructor`, finds nothing.
 */
export function captureParams(
  params: PathPattern["params"],
  runStarts: readonly number[],
  segments: readonly string[],
): Record<string, string> {
  const captured: Record<string, string> = Object.create(null)
  for (const { name, run, offset } of params)
    captured[name] = segments[(runStarts[run] as number) + offset] as string
  return captured
}
