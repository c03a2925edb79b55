// Path patterns:
//
//   /users/me      these segments
//   /users/:id     `:name` is exactly one segment, and captures it
//   /files/*.png   `*` is any part of one segment
//   /v1/**         `**` is any number of segments, none as well, at the end or in the middle
//
// How paths are compared is said in path-form.ts. A character with a meaning of its own is written encoded: `%3A`, `%2A`.

import { SluiceError } from "../../errors.js"
import { type Glob, globOf, LONGEST_GLOB, matchesGlob } from "./glob.js"
import { asciiLowerCase, decodePrintable } from "./path-form.js"

export type PathSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "glob"; readonly glob: Glob }
  | { readonly kind: "param"; readonly name: string }

export interface PathPattern {
  /** As it is written: the route. */
  readonly text: string
  /** The same for patterns that match the same paths segment by segment, whatever their parameters are called. */
  readonly form: string
  /** What is between the `**`: one run of segments when there is none, else one before, one behind and those between. */
  readonly runs: readonly (readonly PathSegment[])[]
  readonly params: readonly { readonly name: string; readonly run: number; readonly offset: number }[]
  /** Of `/v1/**` and its like, which only say how a path begins: `/v1`. */
  readonly prefix: string | undefined
}

const LONGEST_PATTERN = 1_024
const MOST_SEGMENTS = 32
/** Anything else in a path is percent-encoded, or does not reach a pattern at all. */
const PLAIN = /^[\w\-.~!$&'()*+,=:@%"<>[\]^`{|}\u{a0}-\u{d7ff}\u{e000}-\u{10ffff}]*$/u
const BEYOND_ASCII = /[^\0-\x7f]+/g
const NAME = /^[A-Za-z_]\w*$/

type Refuse = (expected: string) => never

/** Refuses what could never match, and what would match something else than it seems to. */
export function parsePathPattern(text: string, place: string): PathPattern {
  const refuse: Refuse = (expected) => {
    throw new SluiceError("PATTERN_INVALID", { place, expected, found: text })
  }
  if (typeof text !== "string" || !text.startsWith("/")) refuse('must start with "/"')
  if (text.length > LONGEST_PATTERN) refuse("must have at most 1,024 characters")
  if (text.includes("?")) refuse('must not have a "?": use query for what follows it')
  const segments = text.slice(1).split("/")
  // One slash at the end does not count, in patterns as in paths.
  if (segments.at(-1) === "") segments.pop()
  if (segments.length > MOST_SEGMENTS) refuse(`must have at most ${MOST_SEGMENTS} segments`)

  const runs: PathSegment[][] = [[]]
  const params: { name: string; run: number; offset: number }[] = []
  for (const segment of segments) {
    const run = runs.at(-1) as PathSegment[]
    if (segment === "**") {
      // `**` twice in a row says what one says.
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
  return { text, form, runs, params, prefix: prefixOf(runs) }
}

function prefixOf([first = [], last, ...others]: readonly PathSegment[][]): string | undefined {
  if (last === undefined || last.length > 0 || others.length > 0) return undefined
  let prefix = ""
  for (const segment of first) {
    if (segment.kind !== "literal") return undefined
    prefix += `/${segment.text}`
  }
  return prefix
}

/** Whether a path in its compared form begins with whole segments. */
export function isUnder(compared: string, prefix: string): boolean {
  if (!compared.startsWith(prefix)) return false
  return compared.length === prefix.length || compared[prefix.length] === "/"
}

function parseSegment(segment: string, refuse: Refuse): PathSegment {
  if (segment === "") refuse("must not have empty segments")
  if (segment === "." || segment === "..") refuse('must not have "." or ".." as a segment')
  if (segment.includes("**")) refuse("must have ** as a whole segment")
  if (segment.includes(";")) refuse('must not have a ";": what follows it in a segment is not compared')
  if (!PLAIN.test(segment)) refuse("must not have spaces, control characters, backslashes or #")
  checkTriplets(segment, refuse)
  if (segment.startsWith(":")) return parseParam(segment.slice(1), refuse)

  const text = asciiLowerCase(segment.replace(BEYOND_ASCII, encodeURIComponent))
  if (!text.includes("*")) return { kind: "literal", text: decodePrintable(text) }
  if (text.length > LONGEST_GLOB) refuse(`must have at most ${LONGEST_GLOB} characters in a segment with *`)
  // Stars are split off before decoding, so that an encoded one is a letter like any other.
  const { first, middle, last } = globOf(text)
  return {
    kind: "glob",
    glob: {
      text,
      first: decodePrintable(first),
      middle: middle.map(decodePrintable),
      last: decodePrintable(last),
    },
  }
}

function parseParam(name: string, refuse: Refuse): PathSegment {
  if (!NAME.test(name)) refuse("must have a name of letters, digits and _ after a : that starts a segment")
  if (name in Object.prototype) refuse(`must not call a parameter ${name}`)
  return { kind: "param", name }
}

/** Only triplets that a canonical path may have: any other could never match. */
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
 * Where each run of the pattern begins in the path, or undefined when the path does not match. Between two `**` a run takes
 * the first place it fits: it always takes the same number of segments, so a later place would leave less for the rest.
 * So each `**` but the last stands for as few segments as it can.
 */
export function matchPath({ runs }: PathPattern, segments: readonly string[]): number[] | undefined {
  const first = runs[0] as readonly PathSegment[]
  if (runs.length === 1) return segments.length === first.length && fits(first, segments, 0) ? [0] : undefined
  const last = runs.at(-1) as readonly PathSegment[]
  const end = segments.length - last.length
  if (first.length > end || !fits(first, segments, 0) || !fits(last, segments, end)) return undefined
  const starts = [0]
  let at = first.length
  for (let i = 1; i < runs.length - 1; i++) {
    const run = runs[i] as readonly PathSegment[]
    while (at + run.length <= end && !fits(run, segments, at)) at++
    if (at + run.length > end) return undefined
    starts.push(at)
    at += run.length
  }
  starts.push(end)
  return starts
}

function fits(run: readonly PathSegment[], segments: readonly string[], at: number): boolean {
  for (let i = 0; i < run.length; i++) {
    const segment = run[i] as PathSegment
    const text = segments[at + i] as string
    if (
      segment.kind === "literal"
        ? segment.text !== text
        : segment.kind === "glob" && !matchesGlob(segment.glob, text)
    )
      return false
  }
  return true
}

/** Inherits nothing, so that no name is ever there that was not captured, and yet is no dictionary to the engine. */
export class Params {
  [name: string]: string
}
Object.setPrototypeOf(Params.prototype, null)
Reflect.deleteProperty(Params.prototype, "constructor")

/** What the parameters stand for, given where the runs begin. */
export function captureParams(
  { params }: PathPattern,
  starts: readonly number[],
  captured: readonly string[],
): Record<string, string> {
  const values: Record<string, string> = new Params()
  for (const { name, run, offset } of params) {
    values[name] = captured[(starts[run] as number) + offset] as string
  }
  return values
}
