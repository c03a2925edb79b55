// What `node:http` lets through, and a gateway must not: requests that the next reader could take for something else.

import { type ClientRequest, isHttp2 } from "./client-request.js"
import type { GatewayProblem } from "./problem.js"

/** A name or address, and a port. Nothing that could be read as a path, a user or a second host. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const MOST_TURNS = 8

/** The host that was asked: undefined where HTTP/1.0 names none. */
export function hostOf(request: ClientRequest): string | undefined {
  const { headers } = request
  return isHttp2(request) ? ((headers[":authority"] as string | undefined) ?? headers.host) : headers.host
}

/** What is wrong with a request, if anything is. */
export function requestFault(
  request: ClientRequest,
  host: string | undefined,
  maxHeaders: number,
): GatewayProblem | undefined {
  const { headers, rawHeaders } = request
  if (!isHttp2(request) && request.httpVersionMajor !== 1) return "REQUEST_INVALID"
  if (rawHeaders.length > maxHeaders * 2) return "HEAD_TOO_LARGE"
  // RFC 9112, 3.2. HTTP/1.0 need not name one.
  if (host === undefined && !isHttp2(request) && request.httpVersionMinor > 0) return "REQUEST_INVALID"
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === "host") hosts++
  }
  // Of two, `node:http` takes the first and an upstream perhaps the last.
  if (hosts > 1 || (host !== undefined && !HOST.test(host))) return "REQUEST_INVALID"
  const encoding = headers["transfer-encoding"]
  if (encoding !== undefined) {
    if (headers["content-length"] !== undefined || request.httpVersionMinor === 0) return "REQUEST_INVALID"
    if (encoding.toLowerCase() !== "chunked") return "ENCODING_UNSUPPORTED"
  }
  const length = headers["content-length"]
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return "REQUEST_INVALID"
  if (headers.via !== undefined && headers.via.split(" sluice").length > MOST_TURNS) return "GATEWAY_LOOP"
  return isHttp2(request) && !isPlain(request, host) ? "REQUEST_INVALID" : undefined
}

/** HTTP/2 has no lines, so what would be a line end in HTTP/1.1 can be anywhere in it. */
function isPlain(request: ClientRequest, host: string | undefined): boolean {
  const { headers, rawHeaders } = request
  if (headers.host !== undefined && headers.host !== host) return false
  if (!TOKEN.test(request.method ?? "")) return false
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (!name.startsWith(":") && !TOKEN.test(name)) return false
    if (/[\0\r\n]/.test(rawHeaders[i + 1] as string)) return false
  }
  return true
}
