// One JSON object per line, as Caddy, Traefik and Envoy write it.

import { anyTime } from "./log-time.js"
import { LoggedRequest, type LogReader, setDuration } from "./logged-request.js"
import { known } from "./request-line.js"
import { lastOf } from "./template.js"

type Fields = Readonly<Record<string, unknown>>

export type JsonFormat = "caddy" | "traefik" | "envoy"

const READERS: Readonly<Record<JsonFormat, (fields: Fields) => LoggedRequest | string | undefined>> = {
  caddy: readCaddy,
  traefik: readTraefik,
  envoy: readEnvoy,
}

const BYTES: Readonly<Record<JsonFormat, string>> = {
  caddy: "size",
  traefik: "DownstreamContentSize",
  envoy: "bytes_sent",
}

export function jsonReader(format: JsonFormat): LogReader {
  const readFields = READERS[format]
  let fields: Fields | undefined
  const read = (line: string): LoggedRequest | string | undefined => {
    if (line === "") return undefined
    fields = parseObject(line)
    return fields === undefined ? "not a JSON object" : readFields(fields)
  }
  return { format, read, field: (name) => valueAt(fields, name), bytes: () => fields?.[BYTES[format]] }
}

/** The value under a name, or under names joined by dots. Caddy writes the values of a header as a list: the first counts. */
function valueAt(fields: Fields | undefined, path: string): unknown {
  let value: unknown = fields
  if (fields !== undefined && Object.hasOwn(fields, path)) value = fields[path]
  else
    for (const name of path.split("."))
      value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return Array.isArray(value) ? value[0] : value
}

/** Detects the format of a line. */
export function jsonFormatOf(line: string): JsonFormat | undefined {
  const fields = parseObject(line)
  if (fields === undefined) return undefined
  if (isObject(fields.request) && "ts" in fields) return "caddy"
  if ("RequestMethod" in fields || "ClientHost" in fields) return "traefik"
  return "start_time" in fields || "downstream_remote_address" in fields ? "envoy" : undefined
}

function parseObject(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function readCaddy(fields: Fields): LoggedRequest | string | undefined {
  // Caddy also logs other things than requests.
  if (!isObject(fields.request)) return undefined
  const { request } = fields
  const at = anyTime(fields.ts)
  if (Number.isNaN(at)) return "no time in ts"
  const ip = text(request.remote_ip) ?? withoutPort(text(request.remote_addr))
  const read = new LoggedRequest(at, ip, text(request.method), text(request.uri))
  if (read.path === undefined) return "no path in request.uri"
  read.host = text(request.host)
  read.user = known(text(fields.user_id))
  if (isObject(request.headers)) read.headers = lowerCase(request.headers)
  return read
}

function readTraefik(fields: Fields): LoggedRequest | string | undefined {
  if (!("RequestMethod" in fields) && !("RequestPath" in fields)) return undefined
  const at = anyTime(fields.StartUTC ?? fields.StartLocal ?? fields.time)
  if (Number.isNaN(at)) return "no time in StartUTC"
  const ip = text(fields.ClientHost) ?? withoutPort(text(fields.ClientAddr))
  const read = new LoggedRequest(at, ip, text(fields.RequestMethod), text(fields.RequestPath))
  if (read.path === undefined) return "no path in RequestPath"
  const began = fields.StartUTC ?? fields.StartLocal
  if (began !== undefined) setDuration(read, fields.Duration, 1e-6)
  read.host = text(fields.RequestHost) ?? text(fields.RequestAddr)
  read.user = known(text(fields.ClientUsername))
  const headers = Object.entries(fields).filter(([name]) => name.startsWith("request_"))
  read.headers = lowerCase(Object.fromEntries(headers.map(([name, value]) => [name.slice(8), value])))
  return read
}

/** Field names of Envoy are configurable. These are the names in its documentation and those of Istio. */
function readEnvoy(fields: Fields): LoggedRequest | string | undefined {
  const at = anyTime(fields.start_time)
  if (Number.isNaN(at)) return "no time in start_time"
  const forwarded = known(text(fields.x_forwarded_for))
  const peer = text(fields.downstream_remote_address) ?? text(fields.downstream_direct_remote_address)
  const ip = withoutPort(known(peer)) ?? lastOf(forwarded)
  const path = known(text(fields.path)) ?? known(text(fields.x_envoy_original_path))
  if (path === undefined) return "no path in path"
  const read = new LoggedRequest(at, ip, text(fields.method), path)
  setDuration(read, fields.duration, 1)
  read.host = known(text(fields.authority))
  read.headers = {
    "user-agent": known(text(fields.user_agent)),
    "x-forwarded-for": forwarded,
    "x-request-id": known(text(fields.request_id)),
  }
  return read
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

/** Removes the port from `192.0.2.1:50000` and `[2001:db8::1]:50000`. */
export function withoutPort(address: string | undefined): string | undefined {
  if (address === undefined) return undefined
  if (address.startsWith("[")) return address.slice(1, address.indexOf("]"))
  const colon = address.indexOf(":")
  return colon > 0 && colon === address.lastIndexOf(":") ? address.slice(0, colon) : address
}

function lowerCase(headers: Fields): Record<string, string | readonly string[] | undefined> {
  const named: Record<string, string | readonly string[] | undefined> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === "string" || isTexts(value)) named[name.toLowerCase()] = value
  }
  return named
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string")
}
