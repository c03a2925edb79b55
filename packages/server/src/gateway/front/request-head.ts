// Writes the head of a request for its upstream: with new framing, and without headers that are for the client's connection.

import type { AcceptedPath } from "sluice/http"
import type { Route } from "../routes/route.js"
import type { Target } from "../upstream/upstream.js"
import { type ClientRequest, isHttp2 } from "./client-request.js"
import type { Origin } from "./forwarded-headers.js"
import { CLAIM, METHOD_OVERRIDE, namedInConnection, PASS, requestKind } from "./headers.js"

/** How the body of a request is framed: no body, chunks, or a number of bytes. */
export type BodyFraming = "none" | "chunked" | number

export function bodyFraming(request: ClientRequest): BodyFraming {
  const { headers } = request
  if (headers["transfer-encoding"] !== undefined) return "chunked"
  const length = headers["content-length"]
  if (length !== undefined) return Number(length)
  // HTTP/2 does not announce a body.
  if (!isHttp2(request)) return "none"
  const { stream } = request as unknown as { stream: { endAfterHeaders: boolean } }
  return stream.endAfterHeaders ? "none" : "chunked"
}

export interface RequestHead {
  readonly request: ClientRequest
  /** Canonical path and query. */
  readonly target: string
  readonly host: string
  readonly origin: Origin
  readonly framing: BodyFraming
  /** Whether headers that override the method are passed on. */
  readonly passesMethodOverride?: boolean | undefined
  /** The protocol to switch to. */
  readonly upgrade?: string | undefined
}

export function requestHead(parts: RequestHead): string {
  const { request, target, host, origin, framing, upgrade, passesMethodOverride } = parts
  const { headers, rawHeaders } = request
  const isNew = isHttp2(request)
  const named = namedInConnection(headers.connection)
  let head = `${request.method} ${target} HTTP/1.1\r\nhost: ${host}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const kind = requestKind(name)
    if (kind !== PASS && !isLetThrough(kind, origin, passesMethodOverride)) continue
    if (named.size > 0 && named.has(name.toLowerCase())) continue
    // Pseudo-headers of HTTP/2 start with a colon. It may send each cookie in a header of its own.
    if (isNew && (name.startsWith(":") || name === "cookie")) continue
    head += `${name}: ${rawHeaders[i + 1]}\r\n`
  }
  if (isNew && headers.cookie !== undefined) head += `cookie: ${headers.cookie}\r\n`
  head += origin.lines
  head += `via: ${headers.via === undefined ? "" : `${headers.via}, `}${isNew ? "2" : request.httpVersion} sluice\r\n`
  if (expectsContinue(request) && framing !== "none") head += "expect: 100-continue\r\n"
  if (takesTrailers(headers.te)) head += "te: trailers\r\n"
  if (framing === "chunked") {
    if (headers.trailer !== undefined) head += `trailer: ${headers.trailer}\r\n`
    head += "transfer-encoding: chunked\r\n"
  } else if (framing !== "none") head += `content-length: ${framing}\r\n`
  return `${head}connection: ${upgrade === undefined ? "keep-alive" : `upgrade\r\nupgrade: ${upgrade}`}\r\n\r\n`
}

function isLetThrough(kind: number, origin: Origin, passesMethodOverride = false): boolean {
  return kind === METHOD_OVERRIDE ? passesMethodOverride : kind === CLAIM && origin.isFromProxy
}

/** HTTP/1.0 has no interim answers. */
export function expectsContinue({ headers, httpVersionMinor, httpVersionMajor }: ClientRequest): boolean {
  const isOld = httpVersionMajor === 1 && httpVersionMinor === 0
  return headers.expect !== undefined && !isOld && headers.expect.toLowerCase() === "100-continue"
}

/** RFC 9110 defines `100-continue` only. */
export function hasUnknownExpectation({ headers }: ClientRequest): boolean {
  return headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue"
}

function takesTrailers(te: string | string[] | undefined): boolean {
  return te !== undefined && /(?:^|,)\s*trailers\s*(?:;|,|$)/i.test(String(te))
}

/** The Host header for the upstream. */
export function hostFor({ keepHost }: Route, { origin }: Target, host: string | undefined): string {
  return keepHost && host !== undefined && host !== "" ? host : origin.slice(origin.indexOf("//") + 2)
}

/** The path and query for the upstream, without `prefix`. */
export function forwardedPath({ path, query }: AcceptedPath, prefix: string | undefined): string {
  return withQuery(prefix === undefined ? path : stripped(path, prefix), query)
}

/** Removes `/api` from `/api/x`, but not from `/apix`. */
function stripped(path: string, prefix: string): string {
  const root = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix
  if (!path.startsWith(root) || (path.length > root.length && path[root.length] !== "/")) return path
  return path.slice(root.length) || "/"
}

export function withQuery(path: string, query: string): string {
  return query === "" ? path : `${path}?${query}`
}
