// A client's request, over either version of HTTP, and what is wrong with it.

import type { IncomingHttpHeaders } from "node:http"
import type { Http2ServerRequest } from "node:http2"
import type { Socket } from "node:net"
import type { Readable } from "node:stream"
import type { Http1Request } from "../../http1/request.js"
import type { GatewayProblem } from "./problems.js"

/** The parts of a request that both versions of HTTP have. */
export interface ClientRequest {
  readonly method: string
  /** The target, as it came. */
  readonly url: string
  readonly httpVersion: string
  readonly httpVersionMajor: number
  readonly httpVersionMinor: number
  readonly headers: Readonly<IncomingHttpHeaders>
  readonly rawHeaders: readonly string[]
  readonly socket: Socket
  /** The whole body, if it arrived with the head. Undefined if there is none, or if it has to be read. */
  readonly body?: Buffer | undefined
}

export function isHttp2(request: ClientRequest): boolean {
  return request.httpVersionMajor === 2
}

/** The body of a request, to be read. */
export interface RequestBody extends Readable {
  /** Name, value, name, value; complete when the body has ended. */
  readonly rawTrailers: readonly string[]
}

/** The body of a request that did not come with its head. */
export function bodyOf(request: ClientRequest): RequestBody {
  if (isHttp2(request)) return request as unknown as Http2ServerRequest
  return (request as Http1Request).bodyStream as RequestBody
}

/** How the body of a request is framed: no body, chunks, or a number of bytes. */
export type BodyFraming = "none" | "chunked" | number

export function bodyFraming(request: ClientRequest): BodyFraming {
  const { headers } = request
  if (headers["transfer-encoding"] !== undefined) return "chunked"
  const length = headers["content-length"]
  if (length !== undefined) return Number(length)
  // HTTP/2 does not announce a body.
  if (!isHttp2(request)) return "none"
  const { stream } = request as unknown as Http2ServerRequest
  return stream.endAfterHeaders ? "none" : "chunked"
}

export function isBodiless(framing: BodyFraming): boolean {
  return framing === "none" || framing === 0
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

/** A name or address, and a port. Nothing that could be read as a path, a user or a second host. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const MAX_TURNS = 8

/** The host that a request names. Undefined where HTTP/1.0 names none. */
export function hostOf(request: ClientRequest): string | undefined {
  const { headers } = request
  return isHttp2(request) ? ((headers[":authority"] as string | undefined) ?? headers.host) : headers.host
}

/**
 * Returns the mistake in a request, if there is one. The reader of HTTP/1.1 has refused malformed requests already. This
 * function checks what is wrong in both versions, and what HTTP/2 allows but HTTP/1.1 does not: every request is translated to
 * HTTP/1.1.
 */
export function requestFault(
  request: ClientRequest,
  host: string | undefined,
  maxHeaders: number,
): GatewayProblem | undefined {
  const { headers, rawHeaders, method } = request
  if (method === "CONNECT") return "METHOD_NOT_ALLOWED"
  if (host !== undefined && !HOST.test(host)) return "REQUEST_INVALID"
  if (headers.via !== undefined && headers.via.split(" sluice").length > MAX_TURNS) return "GATEWAY_LOOP"
  if (!isHttp2(request)) return undefined
  if (rawHeaders.length > maxHeaders * 2) return "HEAD_TOO_LARGE"
  if (headers["transfer-encoding"] !== undefined) return "REQUEST_INVALID"
  const length = headers["content-length"]
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return "REQUEST_INVALID"
  return isTranslatable(request, host) ? undefined : "REQUEST_INVALID"
}

/** Whether a request of HTTP/2 means the same in HTTP/1.1. HTTP/2 has no lines, so a line end can be anywhere in it. */
function isTranslatable(request: ClientRequest, host: string | undefined): boolean {
  const { headers, rawHeaders } = request
  if (host === undefined || (headers.host !== undefined && headers.host !== host)) return false
  if (!TOKEN.test(request.method)) return false
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name === "host") hosts++
    if (!name.startsWith(":") && !TOKEN.test(name)) return false
    if (/[\0\r\n]/.test(rawHeaders[i + 1] as string)) return false
  }
  return hosts <= 1
}
