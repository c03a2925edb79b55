// How a client is answered, over either version of HTTP.

import { type DeniedAnswer, PROBLEM_CONTENT_TYPE, problemBody } from "sluice/http"
import type { AnswerHead } from "../upstream/answer-head.js"
import { isHttp2 } from "./client-request.js"
import type { OwnHeaders } from "./limiting.js"
import { type GatewayProblem, gatewayProblem } from "./problems.js"
import type { RequestContext } from "./request-context.js"

/** Writes the answer to one request. Lists of headers are name, value, name, value; `own` go in front of the others. */
export interface ClientAnswer {
  /** A whole answer of the gateway's own. The body of the request may not have been read. */
  whole(answer: WholeAnswer, own: OwnHeaders | undefined): void
  /** A 1xx answer. HTTP/1.0 has none, so nothing is written then. */
  interim(status: number, headers: readonly string[]): void
  /** The head of the upstream's answer, with the headers `added` to it. It is written with the first piece of the body, or by `flush`. */
  head(head: AnswerHead, own: OwnHeaders | undefined, added: readonly string[]): void
  flush(): void
  /** Returns false when the client has to take what it has before more is written. The bytes are the caller's afterwards. */
  write(bytes: Buffer): boolean
  /** Sets what is called whenever more may be written after `write` has returned false. */
  onDrain(drained: () => void): void
  /**
   * The last piece, if there is another one, and the trailers behind it. The bytes are the caller's afterwards. `isRead` is
   * whether the whole request was read: what is left of it is dropped.
   */
  end(bytes: Buffer | undefined, trailers: readonly string[], isRead: boolean): void
  /** Ends an answer that cannot be finished, so that the client notices that it is cut. */
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
  context: RequestContext,
  answer: ClientAnswer,
  { status, contentType, body }: DeniedAnswer,
  isLast = false,
): void {
  const bytes = Buffer.byteLength(body)
  context.status = status
  context.bytesOut = context.request.method === "HEAD" ? 0 : bytes
  answer.whole({ status, contentType, body, bytes, isLast }, context.admission)
}

/** An HTTP/1 connection ends with these answers. */
const LAST_ANSWERS: ReadonlySet<GatewayProblem> = new Set([
  // What stands behind such a request may be part of it.
  "REQUEST_INVALID",
  "METHOD_NOT_ALLOWED",
  "ENCODING_UNSUPPORTED",
  "HEAD_TOO_LARGE",
  // Requests that the client has sent ahead would be refused one after the other, and other clients would wait for that.
  "UPSTREAM_BUSY",
])

export function answerProblem(context: RequestContext, answer: ClientAnswer, code: GatewayProblem): void {
  const problem = gatewayProblem(code)
  const { status } = problem
  const isLast = LAST_ANSWERS.has(code) && !isHttp2(context.request)
  answerEarly(
    context,
    answer,
    { status, contentType: PROBLEM_CONTENT_TYPE, body: problemBody(problem) },
    isLast,
  )
}
