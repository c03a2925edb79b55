// Answers on a bare socket, where `node:http` has none to give: upgrades, tunnels, and what is no HTTP.

import { STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { PROBLEM_CONTENT_TYPE, problemBody } from "sluice/http"
import { SerialSocket } from "../../http1/serial-socket.js"
import { type GatewayProblem, gatewayProblem } from "./problem.js"

/** `headers`: name, value, name, value. */
export function rawHead(status: number, reason: string | undefined, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} ${reason ?? STATUS_CODES[status] ?? ""}\r\n`
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${head}\r\n`
}

/** A whole answer, and the end of the connection. Answers how many bytes its body has. */
export function endWith(
  socket: Duplex,
  status: number,
  contentType: string,
  body: string,
  headers: readonly string[] = [],
): number {
  const bytes = Buffer.byteLength(body)
  const all = [
    ...headers,
    ...["content-type", contentType],
    ...["cache-control", "no-store"],
    ...["content-length", String(bytes)],
    ...["connection", "close"],
  ]
  if (socket.writable) socket.end(rawHead(status, undefined, all) + body, () => socket.destroy())
  else socket.destroy()
  return bytes
}

export function endWithProblem(
  socket: Duplex,
  code: GatewayProblem,
  headers: readonly string[] = [],
): { status: number; bytes: number } {
  const problem = gatewayProblem(code)
  const { status } = problem
  return { status, bytes: endWith(socket, status, PROBLEM_CONTENT_TYPE, problemBody(problem), headers) }
}

/** What the parser of `node:http` refused. */
export function endMalformed(error: Error, socket: Duplex): void {
  const { code } = error as NodeJS.ErrnoException
  if (code === "ECONNRESET" || !socket.writable) socket.destroy()
  else if (hasAnswered(socket)) socket.end(() => socket.destroy())
  else if (code === "HPE_HEADER_OVERFLOW") endWithProblem(socket, "HEAD_TOO_LARGE")
  else if (code === "ERR_HTTP_REQUEST_TIMEOUT") endWithProblem(socket, "REQUEST_TIMEOUT")
  else endWithProblem(socket, "REQUEST_INVALID")
}

/** Whether an answer is under way on the socket, into which a second one must not be written. */
function hasAnswered(socket: Duplex): boolean {
  return socket instanceof SerialSocket && socket.response?.headersSent === true
}
