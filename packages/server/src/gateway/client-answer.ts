// How an answer goes to the client. `node:http2` looks like `node:http` here but for its heads and trailers.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Http2ServerResponse, ServerHttp2Stream } from "node:http2"
import { type DeniedAnswer, PROBLEM_CONTENT_TYPE, problemBody } from "sluice/http"
import { MOST_DISCARDED_BYTES } from "../http/body.js"
import { type GatewayProblem, gatewayProblem } from "./problem.js"
import { isHttp2, type Visit } from "./visit.js"

const LINGER_MS = 2_000
/** So much is read and thrown away for the sake of keeping the connection. */
const SPARED_BYTES = 65_536

export function writeHead(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  reason: string,
  headers: string[],
): void {
  if (isHttp2(request)) response.writeHead(status, grouped(headers))
  else response.writeHead(status, reason, headers)
}

/** 1xx, as far as the client can be told: not in HTTP/1.0, and not before answers that it awaits first. */
export function writeInterim(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: readonly string[],
): void {
  if (isHttp2(request)) {
    const { stream } = response as unknown as Http2ServerResponse
    if (!stream.destroyed && !stream.headersSent)
      (stream as ServerHttp2Stream).additionalHeaders({ ":status": status, ...grouped(headers) })
    return
  }
  if (response.socket === null || request.httpVersionMinor === 0) return
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  response.socket.write(`${text}\r\n`, "latin1")
}

export function addTrailers(
  request: IncomingMessage,
  response: ServerResponse,
  trailers: readonly string[],
): void {
  if (trailers.length === 0) return
  if (isHttp2(request)) {
    ;(response as unknown as Http2ServerResponse).addTrailers(grouped(trailers))
    return
  }
  const pairs: [string, string][] = []
  for (let i = 0; i < trailers.length; i += 2) pairs.push([trailers[i] as string, trailers[i + 1] as string])
  response.addTrailers(pairs)
}

/** As `node:http2` wants them. Only cookies may come on several lines; all else is a list, or was said twice by mistake. */
function grouped(headers: readonly string[]): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase()
    const value = headers[i + 1] as string
    const earlier = found[name]
    if (earlier === undefined) found[name] = value
    else found[name] = name === "set-cookie" ? [earlier, value].flat() : `${earlier}, ${value}`
  }
  return found
}

/** A whole answer of ours, given before the body of the request was read. `headers` must be the caller's own. */
export function answerEarly(
  visit: Visit,
  response: ServerResponse,
  { status, contentType, body }: DeniedAnswer,
  headers: string[],
): void {
  const { request } = visit
  const bytes = Buffer.byteLength(body)
  visit.status = status
  visit.bytesOut = request.method === "HEAD" ? 0 : bytes
  headers.push("content-type", contentType, "cache-control", "no-store", "content-length", String(bytes))
  if (isHttp2(request)) {
    response.writeHead(status, grouped(headers))
    response.end(body)
    endStream(request, response)
    return
  }
  if (request.complete || mayDiscard(request)) {
    response.writeHead(status, headers)
    response.end(body)
    return
  }
  if (!headers.includes("connection")) headers.push("connection", "close")
  response.writeHead(status, headers)
  response.write(body)
  linger(request, response)
}

export function answerProblem(visit: Visit, response: ServerResponse, code: GatewayProblem): void {
  const problem = gatewayProblem(code)
  const headers = visit.ownHeaders()
  // Who knows what else is on this connection.
  const isSuspect = code === "REQUEST_INVALID" || code === "ENCODING_UNSUPPORTED"
  if (isSuspect && !isHttp2(visit.request)) headers.push("connection", "close")
  const { status } = problem
  answerEarly(
    visit,
    response,
    { status, contentType: PROBLEM_CONTENT_TYPE, body: problemBody(problem) },
    headers,
  )
}

/** Whether what is left of the body is so little that `node:http` may read it and keep the connection. */
function mayDiscard({ headers }: IncomingMessage): boolean {
  if (headers["transfer-encoding"] !== undefined) return false
  const length = headers["content-length"]
  // Whoever awaits leave to send its body has not sent it, and `node:http` closes the connection.
  return length === undefined || Number(length) <= SPARED_BYTES || headers.expect !== undefined
}

/**
 * Ends an answer whose request is still coming. To close while bytes arrive is to reset, and the client may lose what it was
 * told; so a little more is read first. A client that has understood stops sending.
 */
export function linger(request: IncomingMessage, response: ServerResponse): void {
  if (isHttp2(request)) {
    response.end()
    endStream(request, response)
    return
  }
  let left = MOST_DISCARDED_BYTES
  const finish = (): void => {
    clearTimeout(timer)
    request.off("data", onData).off("end", finish).off("close", finish)
    const { socket } = response
    response.end(() => socket?.destroySoon())
  }
  const onData = (bytes: Buffer): void => {
    left -= bytes.length
    if (left < 0) finish()
  }
  const timer = setTimeout(finish, LINGER_MS)
  request.on("data", onData).on("end", finish).on("close", finish)
  request.resume()
}

/** Tells an HTTP/2 client that nobody reads the rest of its body. */
function endStream(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return
  const { stream } = response as unknown as Http2ServerResponse
  // That of the response would wait for the request, which does not end.
  if (stream.writableFinished) stream.close()
  else stream.once("finish", () => stream.close())
}

/** Cuts an answer that cannot be finished, so that the client notices. */
export function cut(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = response
  // Without a length or chunks, an orderly end would look like the end of the answer.
  if (!isHttp2(request) && request.httpVersionMinor === 0 && socket !== null && "resetAndDestroy" in socket) {
    socket.resetAndDestroy()
    return
  }
  if (isHttp2(request)) (response as unknown as Http2ServerResponse).stream.close(INTERNAL_ERROR)
  else response.destroy()
}

/** HTTP/2, error code INTERNAL_ERROR. */
const INTERNAL_ERROR = 2
