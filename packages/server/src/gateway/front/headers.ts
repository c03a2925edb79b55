// Which headers the gateway passes on, of requests and of answers.

import type { AnswerHead } from "../upstream/answer-head.js"

/** Passed on. */
export const PASS = 0
/** For one connection only, or written by the gateway: never passed on. */
const DROP = 1
/** Claims who the client is: passed on only from a trusted proxy. */
export const CLAIM = 2
/** Names another method than the one that was limited: passed on only where the route allows it. */
export const METHOD_OVERRIDE = 3

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
export const requestKind = kindOfWith(requestKinds, (name) => name.toLowerCase().replaceAll("_", "-"))
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
export function namedInConnection(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === "" || /^(?:keep-alive|close)$/i.test(connection)) return NONE
  return new Set(connection.split(",").map((word) => word.trim().toLowerCase()))
}

/**
 * Returns the headers for the client: `own`, with lower-case names, and those of the upstream that have no other value in `own`.
 * Adds to the list `own`.
 */
export function answerHeaders(head: AnswerHead, own: string[]): string[] {
  const { headers } = head
  const names = own.filter((_, i) => i % 2 === 0)
  const named = namedInConnection(head.connection)
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (isPassed(name, head.status, names, named)) own.push(name, headers[i + 1] as string)
  }
  return own
}

/** Whether a header of an upstream's answer is passed on, beside the gateway's own of these names. */
function isPassed(
  name: string,
  status: number,
  names: readonly string[],
  named: ReadonlySet<string>,
): boolean {
  if (answerKind(name) !== PASS) return false
  if (names.length > 0 && isOneOf(names, name)) return false
  if (named.size > 0 && named.has(name.toLowerCase()) && !isFraming(name)) return false
  // RFC 9110, 8.6: interim answers and 204 have no Content-Length.
  return (status !== 204 && status >= 200) || !isFraming(name)
}

function isFraming(name: string): boolean {
  return name.length === "content-length".length && name.toLowerCase() === "content-length"
}

function isOneOf(names: readonly string[], name: string): boolean {
  for (let i = 0; i < names.length; i++) {
    const other = names[i] as string
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
