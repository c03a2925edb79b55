// Standard logs of AWS CloudFront: columns separated by tabs, named in a comment at the top of each file.

import { isoTime } from "./log-time.js"
import { LoggedRequest, type LogReader } from "./logged-request.js"
import { known } from "./request-line.js"

const STANDARD =
  "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header"

export function cloudfrontReader(): LogReader {
  let columns = indexOf(STANDARD)
  let values: readonly string[] = []
  const value = (name: string) => known(values[columns.get(name) ?? -1])
  const read = (line: string): LoggedRequest | string | undefined => {
    if (line.startsWith("#Fields:")) columns = indexOf(line.slice(8).trim())
    if (line === "" || line.startsWith("#")) return undefined
    values = line.split("\t")
    const at = isoTime(`${value("date")}T${value("time")}`)
    if (Number.isNaN(at)) return "no date and time in their columns"
    const stem = value("cs-uri-stem")
    if (stem === undefined) return "no path in cs-uri-stem"
    const query = value("cs-uri-query")
    const path = query === undefined ? stem : `${stem}?${query}`
    const request = new LoggedRequest(at, value("c-ip"), value("cs-method"), path)
    request.host = value("x-host-header") ?? value("cs(Host)")
    request.headers = {
      referer: decoded(value("cs(Referer)")),
      "user-agent": decoded(value("cs(User-Agent)")),
      cookie: decoded(value("cs(Cookie)")),
      "x-forwarded-for": decoded(value("x-forwarded-for")),
    }
    return request
  }
  return { format: "cloudfront", read, field: value, bytes: () => value("sc-bytes") }
}

function indexOf(names: string): ReadonlyMap<string, number> {
  return new Map(names.split(/\s+/).map((name, i) => [name, i]))
}

function decoded(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
