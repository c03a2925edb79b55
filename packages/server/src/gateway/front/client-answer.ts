// What is answered to a client, whichever way its request came in.

import { type DeniedAnswer, PROBLEM_CONTENT_TYPE, problemBody } from "sluice/http"
import type { AnswerHead } from "../upstream/answer-head.js"
import { isHttp2 } from "./client-request.js"
import type { OwnHeaders } from "./limiting.js"
import { type GatewayProblem, gatewayProblem } from "./problem.js"
import type { Visit } from "./request-context.js"

/** The way back to a client, for one request. Lists of headers are name, value, name, value; `own` go in front of them. */
export interface ClientAnswer {
  /** A whole answer of ours, given before the body of the request was read. */
  whole(answer: WholeAnswer, own: OwnHeaders | undefined): void
  /** 1xx, as far as the client can be told: not in HTTP/1.0. */
  interim(status: number, headers: readonly string[]): void
  /** The head of the upstream's answer, and what is added to it. It goes out with the first piece of the body, or when it is flushed. */
  head(head: AnswerHead, own: OwnHeaders | undefined, added: readonly string[]): void
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

export interface WholeAnswer extends DeniedAnswer {
  /** How long its body is. */
  readonly bytes: number
  /** Whether the connection ends with it. */
  readonly isLast: boolean
}

/** The headers of a whole answer as a list. */
export function wholeHeaders(answer: WholeAnswer, own: OwnHeaders | undefined): string[] {
  const headers = [...(own?.headers ?? [])]
  if (answer.isLast) headers.push("connection", "close")
  headers.push("content-type", answer.contentType, "cache-control", "no-store")
  headers.push("content-length", String(answer.bytes))
  return headers
}

export function answerEarly(
  visit: Visit,
  answer: ClientAnswer,
  { status, contentType, body }: DeniedAnswer,
  isLast = false,
): void {
  const bytes = Buffer.byteLength(body)
  visit.status = status
  visit.bytesOut = visit.request.method === "HEAD" ? 0 : bytes
  answer.whole({ status, contentType, body, bytes, isLast }, visit.admission)
}

/** A connection of HTTP/1 ends with these answers. */
const LAST_ANSWERS: ReadonlySet<GatewayProblem> = new Set([
  // Nobody knows what else is on the connection.
  "REQUEST_INVALID",
  "ENCODING_UNSUPPORTED",
  "HEAD_TOO_LARGE",
  // Requests that the client has sent ahead would be refused one after the other, which keeps the gateway from its other clients.
  "UPSTREAM_BUSY",
])

export function answerProblem(visit: Visit, answer: ClientAnswer, code: GatewayProblem): void {
  const problem = gatewayProblem(code)
  const { status } = problem
  const isLast = LAST_ANSWERS.has(code) && !isHttp2(visit.request)
  answerEarly(
    visit,
    answer,
    { status, contentType: PROBLEM_CONTENT_TYPE, body: problemBody(problem) },
    isLast,
  )
}
