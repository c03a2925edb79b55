// Reads headers of a request or response, and detects headers that a request has more than once.

/** Headers by lower-case name, as in `node:http`, or a fetch `Headers` object. */
export type HeaderSource =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null }

/** The value of a header by its lower-case name. Several values are joined into one text. */
export function headerOf(headers: HeaderSource | undefined, name: string): string | undefined {
  if (headers === undefined) return undefined
  if (isHeaders(headers)) return headers.get(name) ?? undefined
  const value = headers[name]
  if (value === undefined || typeof value === "string") return value
  // Every object has properties such as `constructor` that are no headers.
  return Array.isArray(value) ? value.join(name === "cookie" ? "; " : ", ") : undefined
}

/** The separator between the joined values of a header. */
const JOINT = ", "

/** Headers of which `node:http` and `node:http2` keep only the first line. */
export const FIRST_LINE_ONLY: ReadonlySet<string> = new Set([
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

/** Headers whose single value may contain a comma: lists, dates, URLs, names of programs. */
const WITH_COMMAS =
  /^(?:accept(?:-.+)?|access-control-request-headers|cache-control|connection|date|expires|forwarded|if-.+|last-modified|link|location|origin|pragma|prefer|range|referer|sec-.+|te|trailer|upgrade|user-agent|via|warning|x-forwarded-(?:by|for|host|port|proto))$/

/**
 * Whether a request has a header more than once, so that two programs may read different values. `lines` are the raw header
 * lines (name, value, name, value). If they are not known, a value that contains `", "` counts as several values, unless a
 * single value of this header may contain a comma.
 */
export function hasCopies(
  headers: HeaderSource | undefined,
  lines: readonly string[] | undefined,
  name: string,
): boolean {
  // Several Cookie lines are one list: HTTP/2 may split it anywhere.
  if (name === "cookie") return false
  const value = headerOf(headers, name)
  const count = lines === undefined ? 0 : countLines(lines, name)
  // Some programs also read a line with another spelling of the name, which is not in `headers`.
  if (count > 0) return count > 1 || value === undefined
  if (value === undefined) return false
  if (isList(headers, name)) return true
  return value.includes(JOINT) && !WITH_COMMAS.test(name)
}

/** All values of a header that a rule may match. If there are several, the first entry is the joined text. */
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

/** Counts lines by name. CGI, WSGI and PHP read `X_Api_Key` and `X-Api-Key` as the same variable. */
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
