// Reads formats that consist of literals and variables, such as a `log_format` of nginx. The format is compiled once to a list of
// literals, and each line is read by finding them one after the other.

import { SluiceError } from "sluice"
import { anyTime, ClfTime } from "./log-time.js"
import { LoggedRequest, type LogReader, setDuration } from "./logged-request.js"
import { endOfQuoted, known, readRequestLine, unescaped } from "./request-line.js"

interface Piece {
  readonly name: string
  /** The literal after the value. Empty at the end of the line. */
  readonly until: string
}

/** The size of a response: variables of nginx, and the name in the templates of other formats. */
const SIZES = ["body_bytes_sent", "bytes_sent", "sent"]
const TIMES = ["time_local", "time_iso8601", "msec"]

/** Makes a reader for a `log_format`. `isWhole` is false if lines may have more fields at the end. */
export function templateReader(
  format: string,
  template: string,
  { place = "format", isWhole = true }: { readonly place?: string; readonly isWhole?: boolean } = {},
): LogReader {
  const { first, pieces } = compile(template, place)
  const clf = new ClfTime()
  const values = new Map<string, string>()
  const read = (line: string): LoggedRequest | string | undefined => {
    if (line === "") return undefined
    if (!line.startsWith(first)) return `does not begin with ${JSON.stringify(first)}`
    values.clear()
    let at = first.length
    for (const { name, until } of pieces) {
      const end = endOf(line, at + leastLength(line, at, name, until), until)
      if (end < 0) return `no ${JSON.stringify(until)} after $${name}`
      values.set(name, line.slice(at, end))
      at = end + until.length
    }
    if (isWhole && at < line.length) return "has more text after the last field"
    return requestOf(values, clf)
  }
  const field = (name: string) => known(values.get(name))
  const sizes = pieces.map(({ name }) => name).filter((name) => SIZES.includes(name))
  return {
    format,
    read,
    field,
    ...(sizes[0] === undefined ? {} : { bytes: () => field(sizes[0] as string) }),
  }
}

/** Times and unquoted requests contain spaces, so their end is searched after those. */
function leastLength(line: string, at: number, name: string, until: string): number {
  if (name === "time_local") return 26
  if (name !== "request" || until.startsWith('"')) return 0
  const version = line.indexOf(" HTTP/", at)
  return version < 0 ? 0 : version + 6 - at
}

function endOf(line: string, at: number, until: string): number {
  if (until === "") return line.length
  return until.charCodeAt(0) === 34 ? quotedEnd(line, at, until) : line.indexOf(until, at)
}

/** Quotes inside a quoted value are escaped. */
function quotedEnd(line: string, at: number, until: string): number {
  const end = endOfQuoted(line, at)
  return end >= 0 && line.startsWith(until, end) ? end : -1
}

function compile(template: string, place: string): { first: string; pieces: Piece[] } {
  const refuse = (expected: string): never => {
    throw new SluiceError("LOG_FORMAT_INVALID", { place, expected, found: template })
  }
  const names = [...template.matchAll(/\$(?:\{(\w+)\}|(\w+))/g)]
  const pieces = names.map((found, i): Piece => {
    const name = (found[1] ?? found[2]) as string
    const until = template.slice(found.index + found[0].length, names[i + 1]?.index)
    if (until === "" && i + 1 < names.length) refuse(`must have text after $${name}, to find its end`)
    return { name, until }
  })
  const has = (name: string) => pieces.some((piece) => piece.name === name)
  if (!TIMES.some(has)) refuse(`must have a time: $${TIMES.join(", $")}`)
  if (!has("request") && !has("request_uri") && !has("uri"))
    refuse("must have what was asked for: $request, or $request_method and $request_uri")
  return { first: template.slice(0, names[0]?.index), pieces }
}

function requestOf(values: ReadonlyMap<string, string>, clf: ClfTime): LoggedRequest | string {
  const at = timeOf(values, clf)
  if (Number.isNaN(at)) return "no time that can be read"
  const headers = headersOf(values)
  const ip = known(values.get("remote_addr")) ?? lastOf(headers["x-forwarded-for"])
  const line = values.get("request")
  const request =
    line === undefined ? assembled(values, at, ip) : readRequestLine(line, 0, line.length, at, ip)
  if (request === undefined) return "no request like GET /path HTTP/1.1"
  request.host ??= known(values.get("host")) ?? known(values.get("server_name"))
  request.user = known(values.get("remote_user"))
  request.headers = headers
  // A field of Envoy. The times of nginx are those of the end.
  if (values.has("duration")) setDuration(request, values.get("duration"), 1)
  return request
}

function timeOf(values: ReadonlyMap<string, string>, clf: ClfTime): number {
  const local = values.get("time_local")
  if (local !== undefined) return clf.read(local, 0)
  return anyTime(values.get("time_iso8601") ?? values.get("msec"))
}

function assembled(values: ReadonlyMap<string, string>, at: number, ip: string | undefined) {
  const args = known(values.get("args") ?? values.get("query_string"))
  const path = values.get("request_uri") ?? `${values.get("uri")}${args === undefined ? "" : `?${args}`}`
  return new LoggedRequest(at, ip, known(values.get("request_method")), unescaped(path))
}

/** The header of a variable: `$http_user_agent` is `user-agent`. */
function headersOf(values: ReadonlyMap<string, string>): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {}
  for (const [name, value] of values) {
    const found = known(value)
    if (name.startsWith("http_") && found !== undefined)
      headers[name.slice(5).replaceAll("_", "-")] = unescaped(found)
  }
  return headers
}

/** The last address in X-Forwarded-For is the one that the proxy itself has seen. */
export function lastOf(forwarded: string | undefined): string | undefined {
  return known(forwarded?.slice(forwarded.lastIndexOf(",") + 1).trim())
}
