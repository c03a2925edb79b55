import type { IncomingMessage, ServerResponse } from "node:http"
import { pipeline, Readable } from "node:stream"
import { PROBLEM_CONTENT_TYPE, type Problem, problemBody } from "sluice/http"
import { decisionReplacer } from "sluice/internal"
import type { Answer } from "./route.js"

/** Security headers of every answer: no sniffing of types, no framing, and no scripts or styles from elsewhere. */
const SECURITY: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
}

/** Adds these headers to those that every answer has. */
export function headersWith(headers: Readonly<Record<string, string>>): Record<string, string> {
  return { ...SECURITY, "cache-control": "no-store", ...headers }
}

export function sendAnswer(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const { status = 200, headers = {} } = answer
  const isLook = request.method === "GET" || request.method === "HEAD"
  if (isLook && status === 200 && isHeld(request.headers["if-none-match"], headers.etag)) {
    send(response, 304, headers, undefined)
    return
  }
  if (answer.content !== undefined) {
    send(response, status, { "content-type": answer.type ?? "text/plain", ...headers }, answer.content)
  } else if (answer.json !== undefined) {
    const json = JSON.stringify(answer.json, decisionReplacer)
    send(response, status, { "content-type": "application/json", ...headers }, json)
  } else send(response, status, headers, undefined)
}

export function sendProblem(
  response: ServerResponse,
  problem: Problem,
  headers: Readonly<Record<string, string>>,
): void {
  send(response, problem.status, { "content-type": PROBLEM_CONTENT_TYPE, ...headers }, problemBody(problem))
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer | undefined,
): void {
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }
  response.writeHead(status, headersWith({ ...headers, ...length }))
  if (body === undefined || body.length <= MAX_PIECE_BYTES) response.end(body)
  else pipeline(Readable.from(piecesOf(Buffer.from(body))), response, () => {})
}

/** Larger bodies are written piece by piece: the listener sees then whether a slow client receives them. */
const MAX_PIECE_BYTES = 65_536

function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += MAX_PIECE_BYTES) yield body.subarray(at, at + MAX_PIECE_BYTES)
}

/** Whether the client has this version already. */
function isHeld(held: string | undefined, etag: string | undefined): boolean {
  if (held === undefined || etag === undefined) return false
  return held.split(",").some((known) => known.trim().replace(/^W\//, "") === etag)
}
