import { SluiceError } from "sluice"
import { LOG_FORMATS, type LogFormatOption } from "../model/replay-options.js"
import { cloudfrontReader } from "./cloudfront.js"
import { type CombinedOptions, combinedReader } from "./combined.js"
import { csvReader, isCsvHeader } from "./csv.js"
import { jsonFormatOf, jsonReader } from "./json-lines.js"
import { LoggedRequest, type LogReader, readLine } from "./logged-request.js"
import { isRecordHeader, recordReader } from "./record.js"
import { templateReader } from "./template.js"
import { albReader, envoyTextReader } from "./template-formats.js"

/** How many lines are used to detect the format. */
export const LINES_TO_DETECT = 50

const NGINX_DEFAULT =
  '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'

/** Returns the reader for the given format, or for the format that the first lines have. */
export function readerFor(
  lines: readonly string[],
  option: LogFormatOption | undefined,
  options: CombinedOptions,
): LogReader {
  if (option !== undefined) return askedFor(option, lines, options)
  const filled = lines.filter((line) => line !== "")
  const found = marked(filled) ?? bestOf(filled, options)
  if (found !== undefined) return found
  throw new SluiceError("LOG_FORMAT_UNKNOWN", {
    place: "log",
    expected: `must be one of ${LOG_FORMATS.join(", ")}; for another, give its log_format or columns`,
    found: filled[0] ?? "nothing",
  })
}

function askedFor(option: LogFormatOption, lines: readonly string[], options: CombinedOptions): LogReader {
  if (typeof option !== "string") {
    return "nginx" in option
      ? templateReader("nginx", option.nginx, { place: "format.nginx" })
      : csvReader(option.csv)
  }
  switch (option) {
    case "common":
    case "combined":
      return combinedReader(option, options)
    case "nginx":
      return templateReader("nginx", NGINX_DEFAULT)
    case "caddy":
    case "traefik":
      return jsonReader(option)
    case "envoy":
      return lines.some((line) => line.startsWith("{")) ? jsonReader("envoy") : envoyTextReader()
    case "alb":
      return albReader()
    case "cloudfront":
      return cloudfrontReader()
    case "csv":
      return csvReader()
    case "record":
      return recordReader()
    default:
      throw new SluiceError("LOG_FORMAT_INVALID", {
        place: "format",
        expected: `must be one of ${LOG_FORMATS.join(", ")}`,
        found: option satisfies never,
      })
  }
}

/** Formats with an unmistakable first line. */
function marked(lines: readonly string[]): LogReader | undefined {
  const [first = ""] = lines
  if (isRecordHeader(first)) return recordReader()
  if (/^#(?:Version|Fields):/.test(first)) return cloudfrontReader()
  for (const line of lines) {
    const format = line.startsWith("{") ? jsonFormatOf(line) : undefined
    if (format !== undefined) return jsonReader(format)
  }
  return isCsvHeader(first) ? csvReader() : undefined
}

/** The reader that understands most of the lines, and at least half of them. */
function bestOf(lines: readonly string[], options: CombinedOptions): LogReader | undefined {
  const combined = lines.some((line) => /" \d{3} (?:\d+|-) "/.test(line)) ? "combined" : "common"
  const readers = [combinedReader(combined, options), albReader(), envoyTextReader(), cloudfrontReader()]
  const readable = readers.map(
    (reader) => lines.filter((line) => readLine(reader, line) instanceof LoggedRequest).length,
  )
  const most = Math.max(...readable)
  return most > 0 && most * 2 >= lines.length ? readers[readable.indexOf(most)] : undefined
}
