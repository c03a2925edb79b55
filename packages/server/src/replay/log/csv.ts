// CSV with column names in the first line.

import { SluiceError } from "sluice"
import type { CsvField } from "../model/replay-options.js"
import { anyTime } from "./log-time.js"
import { LoggedRequest, type LogReader } from "./logged-request.js"
import { known } from "./request-line.js"

type Columns = Readonly<Partial<Record<CsvField, string>>>

/** Column names by what the column holds. */
const NAMES: Readonly<Record<CsvField, readonly string[]>> = {
  time: ["time", "timestamp", "@timestamp", "datetime", "date", "at", "ts"],
  ip: ["ip", "client_ip", "clientip", "remote_addr", "remote_ip", "client", "c-ip", "source_ip", "address"],
  method: ["method", "request_method", "http_method", "verb", "cs-method"],
  path: ["path", "uri", "url", "request_uri", "target", "cs-uri-stem"],
  host: ["host", "hostname", "authority", "domain"],
  user: ["user", "user_id", "userid", "username", "remote_user"],
  apiKey: ["api_key", "apikey", "key"],
  tier: ["tier", "plan"],
  bytes: ["bytes", "body_bytes_sent", "bytes_sent", "response_size", "size", "sc-bytes"],
}
const FIELDS = Object.keys(NAMES) as CsvField[]

/** The fields of a request. At least one must identify the client. */
export function csvReader(columns: Columns = {}): LogReader {
  let separator = ","
  let names: readonly string[] = []
  let values: readonly string[] | undefined
  let places: Partial<Record<CsvField, number>> | undefined
  const read = (line: string): LoggedRequest | string | undefined => {
    if (line === "") return undefined
    if (places === undefined) {
      separator = separatorOf(line)
      names = (split(line, separator) ?? []).map((name) => name.trim())
      places = placesOf(names, columns)
      return undefined
    }
    values = split(line, separator)
    if (values === undefined) return "quotes that do not end"
    const at = anyTime(values[places.time ?? -1])
    if (Number.isNaN(at)) return "no time that can be read"
    const request = new LoggedRequest(at, value("ip"), value("method"), value("path"))
    request.host = value("host")
    request.user = value("user")
    request.apiKey = value("apiKey")
    request.tier = value("tier")
    return request
  }
  const value = (field: CsvField) => known(values?.[places?.[field] ?? -1])
  const field = (name: string) => values?.[names.indexOf(name)]
  return { format: "csv", read, field, bytes: () => value("bytes") }
}

/** Whether a line can be the head of such a file: it names a time column, and a client or path column. */
export function isCsvHeader(line: string): boolean {
  // JSON of an unknown shape also contains names such as time and path.
  if (line.startsWith("{") || line.startsWith("[")) return false
  const names = split(line, separatorOf(line)) ?? []
  const has = (field: CsvField) => names.some((name) => NAMES[field].includes(name.trim().toLowerCase()))
  return names.length > 1 && has("time") && (has("ip") || has("user") || has("apiKey") || has("path"))
}

function placesOf(names: readonly string[], columns: Columns): Partial<Record<CsvField, number>> {
  const found: Partial<Record<CsvField, number>> = {}
  for (const field of FIELDS) {
    const wanted = columns[field]
    const place = names.findIndex((name) =>
      wanted === undefined ? NAMES[field].includes(name.toLowerCase()) : name === wanted,
    )
    if (place >= 0) found[field] = place
    else if (wanted !== undefined || field === "time")
      throw new SluiceError("LOG_FORMAT_INVALID", {
        place: `format.csv.${field}`,
        expected: `must be a column of the file: ${names.join(", ")}`,
        found: wanted,
      })
  }
  return found
}

function separatorOf(line: string): string {
  const count = (char: string) => line.split(char).length
  return [",", ";", "\t"].reduce((best, char) => (count(char) > count(best) ? char : best))
}

/** Splits a line. A quoted value may contain the separator, and doubled quotes. */
function split(line: string, separator: string): string[] | undefined {
  if (!line.includes('"')) return line.split(separator)
  const values: string[] = []
  let at = 0
  while (at <= line.length) {
    if (line[at] !== '"') {
      const end = line.indexOf(separator, at)
      values.push(line.slice(at, end < 0 ? undefined : end))
      if (end < 0) return values
      at = end + 1
      continue
    }
    let end = line.indexOf('"', at + 1)
    while (end >= 0 && line[end + 1] === '"') end = line.indexOf('"', end + 2)
    if (end < 0) return undefined
    values.push(line.slice(at + 1, end).replaceAll('""', '"'))
    if (end + 1 >= line.length) return values
    at = end + 2
  }
  values.push("")
  return values
}
