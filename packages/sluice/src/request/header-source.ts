// Headers of a request or an answer, however the caller has them, and how often a request has one.

/** Headers by lower-case name, as `node:http` has them, or a fetch `Headers`. */
export type HeaderSource =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null }

/** A header by its lower-case name; one that came several times, as one text. */
export function headerOf(headers: HeaderSource | undefined, name: string): string | undefined {
  if (headers === undefined) return undefined
  if (isHeaders(headers)) return headers.get(name) ?? undefined
  const value = headers[name]
  if (value === undefined || typeof value === "string") return value
  // By a name like `constructor` every object has something that is no header.
  return Array.isArray(value) ? value.join(name === "cookie" ? "; " : ", ") : undefined
}

/** What joins the values of a header that came more than once. */
const JOINT = ", "

/** Headers that `node:http` and `node:http2` keep the first line of, so that their value does not show a second one. */
const FIRST_LINE_ONLY: ReadonlySet<string> = new Set([
  "age",
  "authorization",
  "content-length",
  "content-type",
  "etag",
  "expires",
  "from",
  "host",
  "if-modified-since",
  "if-unmodified-since",
  "last-modified",
  "location",
  "max-forwards",
  "proxy-authorization",
  "referer",
  "retry-after",
  "server",
  "user-agent",
])

/** Headers whose single value may well have a comma in it: lists, dates, addresses of pages, names of programs. */
const WITH_COMMAS =
  /^(?:accept(?:-.+)?|access-control-request-headers|cache-control|connection|date|expires|forwarded|if-.+|last-modified|link|location|origin|pragma|prefer|range|referer|sec-.+|te|trailer|upgrade|user-agent|via|warning|x-forwarded-(?:by|for|host|port|proto))$/

/**
 * Whether a request has a header more than once, so that two programs may each take another value for it. `lines` are its
 * header lines as they came (name, value, name, value). Where they are not known, a value with `", "` in it is taken for
 * several, unless the header is one whose value is like that.
 */
export function hasCopies(
  headers: HeaderSource | undefined,
  lines: readonly string[] | undefined,
  name: string,
): boolean {
  // Its lines are one list, which HTTP/2 splits as it likes.
  if (name === "cookie") return false
  const value = headerOf(headers, name)
  const count = lines === undefined ? 0 : countLines(lines, name)
  // A line under another spelling of the name is read by some programs, and is not in `headers`.
  if (count > 0) return count > 1 || value === undefined
  if (value === undefined) return false
  if (isList(headers, name)) return true
  return value.includes(JOINT) && !WITH_COMMAS.test(name)
}

/** All values of a header that a rule may look for, and those that came more than once also as one text. */
export function headerValues(
  headers: HeaderSource | undefined,
  lines: readonly string[] | undefined,
  name: string,
): string | readonly string[] | undefined {
  const value = headerOf(headers, name)
  if (value === undefined) return undefined
  const isJoined = value.includes(JOINT)
  if (lines === undefined || lines.length === 0)
    return isJoined && !WITH_COMMAS.test(name) ? [value, ...value.split(JOINT)] : value
  if (!isJoined && !FIRST_LINE_ONLY.has(name)) return value
  const values: string[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const line = lines[i] as string
    if (line.length === name.length && line.toLowerCase() === name) values.push(lines[i + 1] as string)
  }
  return values.length > 1 ? [value, ...values] : value
}

/** `X_Api_Key` is the same variable as `X-Api-Key` to CGI, WSGI and PHP. */
function countLines(lines: readonly string[], name: string): number {
  let count = 0
  for (let i = 0; i < lines.length; i += 2) {
    const line = lines[i] as string
    if (line.length === name.length && isSameName(line, name)) count++
  }
  return count
}

function isSameName(line: string, name: string): boolean {
  if (line === name) return true
  const lower = line.toLowerCase()
  return lower === name || lower.replaceAll("_", "-") === name.replaceAll("_", "-")
}

function isList(headers: HeaderSource | undefined, name: string): boolean {
  if (headers === undefined || isHeaders(headers)) return false
  const value = headers[name]
  return Array.isArray(value) && value.length > 1
}

function isHeaders(headers: HeaderSource): headers is { get(name: string): string | null } {
  return typeof headers.get === "function"
}
