// What is answered to a client, whichever way its request came in.

import { type DeniedAnswer, PROBLEM_CONTENT_TYPE, problemBody } from "sluice/http"
import { isHttp2 } from "./client-request.js"
import { type GatewayProblem, gatewayProblem } from "./problem.js"
import type { Visit } from "./visit.js"

/** The way back to a client, for one request. Lists of headers are name, value, name, value. */
export interface ClientAnswer {
  /** Whether it is next: a client may have asked for others before, and hears of none before those. */
  readonly isNext: boolean
  /** A whole answer, given before the body of the request was read; `bytes` is how long its body is. */
  whole(status: number, headers: string[], body: string, bytes: number): void
  /** 1xx, as far as the client can be told: not in HTTP/1.0, and not before answers that it awaits first. */
  interim(status: number, headers: readonly string[]): void
  /** The head of an answer that comes in pieces. It goes out with the first of them, or when it is flushed. */
  head(status: number, reason: string, headers: string[]): void
  flush(): void
  /** False when the client has to take what it has before more is written. The bytes are the caller's again afterwards. */
  write(bytes: Buffer): boolean
  /** Told each time when more may be written after all. */
  onDrain(told: () => void): void
  /** The last piece, if there is another one, and what follows it. The bytes again are the caller's. */
  end(bytes: Buffer | undefined, trailers: readonly string[]): void
  /** The same for an answer whose request is still coming. */
  linger(bytes: Buffer | undefined, trailers: readonly string[]): void
  /** Cuts an answer that cannot be finished, so that the client notices. */
  cut(): void
}

/** A whole answer of ours. `headers` must be the caller's own. */
export function answerEarly(
  visit: Visit,
  answer: ClientAnswer,
  { status, contentType, body }: DeniedAnswer,
  headers: string[],
): void {
  const bytes = Buffer.byteLength(body)
  visit.status = status
  visit.bytesOut = visit.request.method === "HEAD" ? 0 : bytes
  headers.push("content-type", contentType, "cache-control", "no-store", "content-length", String(bytes))
  answer.whole(status, headers, body, bytes)
}

export function answerProblem(visit: Visit, answer: ClientAnswer, code: GatewayProblem): void {
  const problem = gatewayProblem(code)
  const headers = visit.ownHeaders()
  // Who knows what else is on this connection.
  const isSuspect = code === "REQUEST_INVALID" || code === "ENCODING_UNSUPPORTED"
  if (isSuspect && !isHttp2(visit.request)) headers.push("connection", "close")
  const { status } = problem
  answerEarly(
    visit,
    answer,
    { status, contentType: PROBLEM_CONTENT_TYPE, body: problemBody(problem) },
    headers,
  )
}
