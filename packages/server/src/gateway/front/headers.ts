// Which headers the gateway passes on, of requests and of answers, and which it writes itself.

import type { DeniedAnswer } from "sluice/http"
import type { Route } from "../routes/route.js"
import type { AnswerHead } from "../upstream/answer-parser.js"
import type { Target } from "../upstream/target.js"
import { type BodyFraming, type ClientRequest, expectsContinue, isHttp2 } from "./client-request.js"
import type { Destination } from "./request-context.js"

/** Passed on. */
const PASS = 0
/** For one connection only, or written by the gateway: never passed on. */
const DROP = 1
/** Claims who the client is: passed on only from a trusted proxy. */
const CLAIM = 2
/** Names another method than the one that was limited: passed on only where the route allows it. */
const METHOD_OVERRIDE = 3

/** Hop-by-hop by RFC 9110, 7.6.1, or by its predecessors. The gateway writes `te` and `trailer` itself where they apply. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]

/** Written by the gateway itself. */
const REWRITTEN = [
  "host",
  "content-length",
  "expect",
  "via",
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
]

/** Some frameworks serve the path or method in these headers instead of the one that was limited. */
const OTHER_TARGETS = [
  "x-original-url",
  "x-original-uri",
  "x-original-method",
  "x-rewrite-url",
  "x-forwarded-uri",
  "x-forwarded-method",
]

const METHOD_OVERRIDES = ["x-http-method-override", "x-http-method", "x-method-override"]

const CLAIMS = [
  "x-real-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-forwarded-port",
  "x-forwarded-server",
  "x-forwarded-prefix",
  "x-forwarded-ssl",
  "x-forwarded-scheme",
  "true-client-ip",
  "cf-connecting-ip",
]

const requestKinds = new Map<string, number>()
for (const name of [...HOP_BY_HOP, ...REWRITTEN, ...OTHER_TARGETS]) requestKinds.set(name, DROP)
for (const name of CLAIMS) requestKinds.set(name, CLAIM)
for (const name of METHOD_OVERRIDES) requestKinds.set(name, METHOD_OVERRIDE)

const answerKinds = new Map<string, number>(HOP_BY_HOP.map((name) => [name, DROP]))

/** Clients mostly send the same few names, but may send any number of others. */
const MAX_REMEMBERED = 1_000

/** Returns the kind of a header by its name in any spelling. Remembers the spellings that it has seen. */
type KindOf = (name: string) => number

function kindOfWith(kinds: ReadonlyMap<string, number>, normal: (name: string) => string): KindOf {
  const remembered = new Map<string, number>()
  // Most names have another length than all of these.
  const lengths = new Set([...kinds.keys()].map((name) => name.length))
  return (name) => {
    if (!lengths.has(name.length)) return PASS
    const known = remembered.get(name)
    if (known !== undefined) return known
    const kind = kinds.get(normal(name)) ?? PASS
    if (remembered.size < MAX_REMEMBERED) remembered.set(name, kind)
    return kind
  }
}

/** CGI, WSGI and PHP turn `X_Forwarded_For` and `X-Forwarded-For` into the same variable. */
const requestKind = kindOfWith(requestKinds, (name) => name.toLowerCase().replaceAll("_", "-"))
const answerKind = kindOfWith(answerKinds, (name) => name.toLowerCase())

/** Fields that are not allowed in trailers (RFC 9110, 6.5.1). */
const NEVER_TRAILING = new Set([
  ...HOP_BY_HOP,
  ...REWRITTEN,
  ...["authorization", "cookie", "set-cookie", "cache-control", "content-encoding", "content-range"],
  ...["content-type", "max-forwards", "pragma", "range", "age", "date", "expires", "location", "retry-after"],
])

/** Returns the trailers that may be passed on: name, value, name, value. */
export function passedTrailers(trailers: readonly string[]): string[] {
  const passed: string[] = []
  for (let i = 0; i < trailers.length; i += 2) {
    const name = trailers[i] as string
    if (NEVER_TRAILING.has(name.toLowerCase()) || requestKind(name) !== PASS) continue
    passed.push(name, trailers[i + 1] as string)
  }
  return passed
}

const NONE: ReadonlySet<string> = new Set()

/** The names in a Connection header: those headers are for this connection only. */
function namedInConnection(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === "" || /^(?:keep-alive|close)$/i.test(connection)) return NONE
  return new Set(connection.split(",").map((word) => word.trim().toLowerCase()))
}

/**
 * Writes the head of a request for its upstream: with new framing, and without headers that are for the client's connection.
 * `upgrade` is the protocol to switch to.
 */
export function requestHead(
  request: ClientRequest,
  { route, upstreamPath, client }: Destination,
  host: string,
  framing: BodyFraming,
  upgrade?: string,
): string {
  const { headers, rawHeaders } = request
  const isNew = isHttp2(request)
  const named = namedInConnection(headers.connection)
  let head = `${request.method} ${upstreamPath} HTTP/1.1\r\nhost: ${host}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const kind = requestKind(name)
    if (kind === DROP || (kind === CLAIM && !client.isBehindProxy)) continue
    if (kind === METHOD_OVERRIDE && route.passesMethodOverride !== true) continue
    if (named.size > 0 && named.has(name.toLowerCase())) continue
    // Pseudo-headers of HTTP/2 start with a colon. It may send each cookie in a header of its own.
    if (isNew && (name.startsWith(":") || name === "cookie")) continue
    head += `${name}: ${rawHeaders[i + 1]}\r\n`
  }
  if (isNew && headers.cookie !== undefined) head += `cookie: ${headers.cookie}\r\n`
  head += client.forwardedLines
  head += `via: ${headers.via === undefined ? "" : `${headers.via}, `}${isNew ? "2" : request.httpVersion} sluice\r\n`
  if (expectsContinue(request) && framing !== "none") head += "expect: 100-continue\r\n"
  if (takesTrailers(headers.te)) head += "te: trailers\r\n"
  if (framing === "chunked") {
    if (headers.trailer !== undefined) head += `trailer: ${headers.trailer}\r\n`
    head += "transfer-encoding: chunked\r\n"
  } else if (framing !== "none") head += `content-length: ${framing}\r\n`
  return `${head}connection: ${upgrade === undefined ? "keep-alive" : `upgrade\r\nupgrade: ${upgrade}`}\r\n\r\n`
}

function takesTrailers(te: string | string[] | undefined): boolean {
  return te !== undefined && /(?:^|,)\s*trailers\s*(?:;|,|$)/i.test(String(te))
}

/** The Host header for the upstream: the client's, or the name of the target. */
export function hostFor({ keepHost }: Route, { origin }: Target, host: string | undefined): string {
  return keepHost && host !== undefined && host !== "" ? host : origin.slice(origin.indexOf("//") + 2)
}

/** The headers of a whole answer of the gateway's own, with `own` in front of the others. */
export function wholeHeaders({ contentType, body }: DeniedAnswer, own: readonly string[]): string[] {
  const length = String(Buffer.byteLength(body))
  return [...own, "content-type", contentType, "cache-control", "no-store", "content-length", length]
}

/** Returns the headers for the client: `own`, with lower-case names, then those of the upstream that have other names. */
export function answerHeaders(head: AnswerHead, own: readonly string[]): string[] {
  const { headers, status } = head
  const named = namedInConnection(head.connection)
  // RFC 9110, 8.6: interim answers and 204 have no Content-Length.
  const hasLength = status >= 200 && status !== 204
  const passed = [...own]
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (answerKind(name) !== PASS || isNamed(own, name)) continue
    if (isContentLength(name) ? !hasLength : named.size > 0 && named.has(name.toLowerCase())) continue
    passed.push(name, headers[i + 1] as string)
  }
  return passed
}

function isContentLength(name: string): boolean {
  return name.length === "content-length".length && name.toLowerCase() === "content-length"
}

/** Whether a list of headers with lower-case names has this one. */
function isNamed(headers: readonly string[], name: string): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    const other = headers[i] as string
    if (other.length === name.length && other === name.toLowerCase()) return true
  }
  return false
}

/** Headers by lower-case name. Several lines of one name are joined by a comma. */
export function byName(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = Object.create(null)
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase()
    const value = headers[i + 1] as string
    found[name] = found[name] === undefined ? value : `${found[name]}, ${value}`
  }
  return found
}
