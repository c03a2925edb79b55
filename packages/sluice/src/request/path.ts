// The canonical form of a request's path. Rules match this form, and a gateway forwards it. If the two differed, a client could
// send a path that the backend serves and no rule matches.

import { hexDigit } from "./address/ip-address.js"

export interface CanonicalPathOptions {
  /**
   * `%2F` in a path: a slash to some backends and a character to others. `refuse` (default), or `keep` it as it is for
   * an API that has slashes inside its names.
   */
  readonly encodedSlashes?: "refuse" | "keep" | undefined
  /**
   * `.` and `..`: `resolve` them (default), which is right where the canonical path is forwarded, or `refuse` them where
   * the application sees the path as it came and may resolve them differently or not at all.
   */
  readonly dotSegments?: "resolve" | "refuse" | undefined
}

/** The reasons for which a target is refused, each with a sentence for people. */
export const pathRefusals = {
  form: "The request target is not a path that starts with a slash.",
  fragment: "The request target has a fragment.",
  character: "The request target has a control character, a space, a backslash or something that is no byte.",
  percent: "The path has a percent sign that is not followed by two hexadecimal digits.",
  slash: "The path has an encoded slash or backslash.",
  "double-encoding": "The path is percent-encoded twice.",
  overlong: "The path has a character in a longer form of UTF-8 than is allowed.",
  dots: "The path has dot segments that lead above the root, or whose meaning is not clear.",
} as const

export type PathRefusal = keyof typeof pathRefusals

export interface AcceptedPath {
  readonly ok: true
  readonly path: string
  /** The text after the `?`; empty if there is none. */
  readonly query: string
}

export interface RefusedPath {
  readonly ok: false
  readonly reason: PathRefusal
}

export type CanonicalPath = AcceptedPath | RefusedPath

const HASH = 0x23
const PERCENT = 0x25
const DOT = 0x2e
const SLASH = 0x2f
const QUESTION_MARK = 0x3f
const BACKSLASH = 0x5c

/** Characters that a path contains as they are: letters, digits, the slash and some others. */
const PLAIN = 1
/** Printable characters that a path contains only percent-encoded. */
const ENCODED = 2
const REFUSED = 0

const classes = /* @__PURE__ */ classesOfCharacters()

function classesOfCharacters(): Uint8Array {
  const classes = new Uint8Array(128)
  for (let code = 0x21; code < 0x7f; code++) classes[code] = ENCODED
  for (const char of "/-._~!$&'()*+,;=:@") classes[char.charCodeAt(0)] = PLAIN
  for (let code = 0; code < 128; code++) {
    if (/[A-Za-z0-9]/.test(String.fromCharCode(code))) classes[code] = PLAIN
  }
  classes[BACKSLASH] = REFUSED
  return classes
}

/**
 * The bytes that are decoded: all PLAIN characters, so that a path has one spelling. The exceptions would change their meaning:
 * `/` separates segments, `;` starts parameters for some servers, and `+` is a space for others.
 */
const decodable = /* @__PURE__ */ decodableBytes()

function decodableBytes(): Uint8Array {
  const decodable = new Uint8Array(256)
  for (let code = 0; code < 128; code++) decodable[code] = classes[code] === PLAIN ? 1 : 0
  for (const char of "/;+") decodable[char.charCodeAt(0)] = 0
  return decodable
}

/** Each byte percent-encoded. */
const triplets = /* @__PURE__ */ Array.from(
  { length: 256 },
  (_, byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
)

/**
 * Converts a request target into its canonical path and its query, or refuses it. `target` has one character per byte, as
 * `node:http` and `fetch` provide it. The time is linear in its length.
 */
export function canonicalPath(target: string, options: CanonicalPathOptions = {}): CanonicalPath {
  const end = plainEnd(target)
  if (end === target.length) return { ok: true, path: target, query: "" }
  if (end < 0) return refuse("form")
  if (target.charCodeAt(end) !== QUESTION_MARK) return rewritten(target, options)
  return withQuery(target.slice(0, end), target.slice(end + 1))
}

/** Whether a target is a canonical path without a query. */
export function isCanonicalPath(target: string): boolean {
  return plainEnd(target) === target.length
}

/** The length of the part of a target that is a canonical path; -1 if the target does not start with a slash. */
function plainEnd(target: string): number {
  if (target.charCodeAt(0) !== SLASH) return -1
  let before = SLASH
  for (let i = 1; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code > 127 || classes[code] !== PLAIN || (before === SLASH && (code === SLASH || code === DOT)))
      return i
    before = code
  }
  return target.length
}

function withQuery(path: string, query: string): CanonicalPath {
  let encoded = ""
  let copied = 0
  for (let i = 0; i < query.length; i++) {
    const code = query.charCodeAt(i)
    if (code > 0x20 && code < 0x7f && code !== HASH) continue
    if (code === HASH) return refuse("fragment")
    if (code < 0x80 || code > 0xff) return refuse("character")
    encoded += query.slice(copied, i) + triplets[code]
    copied = i + 1
  }
  return { ok: true, path, query: copied === 0 ? query : encoded + query.slice(copied) }
}

function rewritten(target: string, options: CanonicalPathOptions): CanonicalPath {
  if (target.includes("#")) return refuse("fragment")
  const mark = target.indexOf("?")
  const raw = mark < 0 ? target : target.slice(0, mark)
  const keepSlashes = options.encodedSlashes === "keep"
  const segments: string[] = []
  let sawEmpty = false
  // Whether the canonical path ends in a slash: it does after a slash and after a dot segment.
  let open = true
  for (const piece of raw.slice(1).split("/")) {
    if (piece === "") {
      sawEmpty = true
      open = true
      continue
    }
    const segment = canonicalSegment(piece, keepSlashes)
    if (typeof segment !== "string") return segment
    open = segment === "." || segment === ".."
    if (!open) {
      segments.push(segment)
      continue
    }
    // Some servers resolve `/a//..` to `/a/`, others to `/`.
    const unclear = options.dotSegments === "refuse" || (segment === ".." && sawEmpty)
    if (unclear || (segment === ".." && segments.pop() === undefined)) return refuse("dots")
  }
  const path = segments.length === 0 ? "/" : `/${segments.join("/")}${open ? "/" : ""}`
  return withQuery(path, mark < 0 ? "" : target.slice(mark + 1))
}

/** Whether two consecutive bytes belong to an overlong UTF-8 encoding. */
function isOverlong(previous: number, byte: number): boolean {
  if (byte === 0xc0 || byte === 0xc1) return true
  if (byte >= 0x80 && byte < 0x90)
    return previous === 0xe0 || previous === 0xf0 || previous === 0xf8 || previous === 0xfc
  return previous === 0xe0 && byte >= 0x90 && byte < 0xa0
}

function canonicalSegment(piece: string, keepSlashes: boolean): string | RefusedPath {
  let segment = ""
  // The end of the part that has been copied to `segment`.
  let copied = 0
  let sawPercent = false
  let sawOverlong = false
  /** The previous byte if it is percent-encoded in the result, else -1. */
  let previous = -1
  for (let i = 0; i < piece.length; i++) {
    const code = piece.charCodeAt(i)
    if (code < 128 && classes[code] === PLAIN) continue
    if (copied < i) {
      segment += piece.slice(copied, i)
      previous = -1
    }
    if (code === PERCENT) {
      const byte = hexByte(piece, i + 1)
      if (byte < 0) return refuse("percent")
      if (byte < 0x20 || byte === 0x7f) return refuse("character")
      if (byte === BACKSLASH || (byte === SLASH && !keepSlashes)) return refuse("slash")
      segment += decodable[byte] === 1 ? String.fromCharCode(byte) : triplets[byte]
      sawPercent ||= byte === PERCENT
      sawOverlong ||= isOverlong(previous, byte)
      previous = byte
      i += 2
    } else if (code < 128 ? classes[code] === ENCODED : code < 256) {
      segment += triplets[code]
      sawOverlong ||= isOverlong(previous, code)
      previous = code
    } else {
      return refuse("character")
    }
    copied = i + 1
  }
  if (copied < piece.length) segment += piece.slice(copied)
  // This check needs the decoded segment: the digits of the second encoding may be percent-encoded themselves.
  if (sawPercent && /%25[0-9A-Fa-f]{2}/.test(segment)) return refuse("double-encoding")
  if (sawOverlong) return refuse("overlong")
  // Servers that cut off parameters read `..;x` as `..`. Servers that decode slashes read `a%2F..` as `a/..`.
  const hasDots = segment.startsWith(".") || segment.includes("%2F.")
  if (hasDots && segment !== ".." && /(?:^|%2F)\.\.?(?:;|%3B|%2F)|%2F\.\.?$/.test(segment))
    return refuse("dots")
  return segment
}

/** The value of two hexadecimal digits, or -1. */
function hexByte(text: string, at: number): number {
  const high = hexDigit(text.charCodeAt(at))
  const low = hexDigit(text.charCodeAt(at + 1))
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

function refuse(reason: PathRefusal): RefusedPath {
  return { ok: false, reason }
}
