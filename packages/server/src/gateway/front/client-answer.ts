// Writes answers to clients. This file has those over HTTP/1.1, http2-answer.ts those over HTTP/2.

import type { DeniedAnswer } from "sluice/http"
import { fieldLines } from "../../http1/fields.js"
import type { Http1Response } from "../../http1/response.js"
import type { AnswerHead } from "../upstream/answer-parser.js"
import { isHttp2 } from "./client-request.js"
import { answerHeaders } from "./headers.js"
import { type GatewayProblem, problemAnswer } from "./problems.js"
import type { RequestContext } from "./request-context.js"

/** Writes answers of the gateway's own. Lists of headers are name, value, name, value. */
export interface OwnAnswer {
  /**
   * Writes a whole answer, with the headers `own` in front of the others. The body of the request may not have been read. With
   * `isLast`, an HTTP/1.1 connection ends with the answer.
   */
  whole(answer: DeniedAnswer, own: readonly string[], isLast: boolean): void
}

/** Writes the answer to one request, over either version of HTTP. */
export interface ClientAnswer extends OwnAnswer {
  /** A 1xx answer. HTTP/1.0 has none, so nothing is written then. */
  interim(status: number, headers: readonly string[]): void
  /**
   * The head of the upstream's answer, with the headers `own` in place of those of the same name, followed by `added`. It is
   * written with the first piece of the body, or by `flush`.
   */
  head(head: AnswerHead, own: readonly string[], added: readonly string[]): void
  flush(): void
  /** Returns false if the caller should wait before it writes more. The caller may reuse the bytes afterwards. */
  write(bytes: Buffer): boolean
  /** Sets a callback for when more may be written, after `write` has returned false. */
  onDrain(drained: () => void): void
  /**
   * Writes the last piece, if there is one, and the trailers. The caller may reuse the bytes afterwards. `isRead` is whether
   * the whole request was read; otherwise the rest is dropped.
   */
  end(bytes: Buffer | undefined, trailers: readonly string[], isRead: boolean): void
  /** Ends an answer that cannot be finished, so that the client notices that it is cut. */
  cut(): void
}

/** An HTTP/1.1 connection ends with these answers. */
const LAST_ANSWERS: ReadonlySet<GatewayProblem> = new Set([
  // The bytes after such a request may belong to it.
  "REQUEST_INVALID",
  "METHOD_NOT_ALLOWED",
  "ENCODING_UNSUPPORTED",
  "HEAD_TOO_LARGE",
  // Requests that the client has sent ahead would be refused one after the other, and other clients would wait for that.
  "UPSTREAM_BUSY",
])

/** Answers a client with a problem, instead of the upstream. */
export function answerProblem(context: RequestContext, answer: OwnAnswer, code: GatewayProblem): void {
  answerWhole(context, answer, problemAnswer(code), LAST_ANSWERS.has(code) && !isHttp2(context.request))
}

/** Sends a client an answer that the gateway wrote itself. */
export function answerWhole(
  context: RequestContext,
  answer: OwnAnswer,
  whole: DeniedAnswer,
  isLast = false,
): void {
  context.status = whole.status
  context.bytesOut = context.request.method === "HEAD" ? 0 : Buffer.byteLength(whole.body)
  answer.whole(whole, context.limitHeaders, isLast)
}

/** An answer over HTTP/1.1. */
export class Http1Answer implements ClientAnswer {
  readonly #response: Http1Response

  constructor(response: Http1Response) {
    this.#response = response
  }

  whole({ status, contentType, body }: DeniedAnswer, own: readonly string[], isLast: boolean): void {
    const lines = `${fieldLines(own)}content-type: ${contentType}\r\ncache-control: no-store\r\n`
    this.#response.whole(status, lines, body, isLast)
  }

  interim(status: number, headers: readonly string[]): void {
    this.#response.interim(status, headers)
  }

  head(head: AnswerHead, own: readonly string[], added: readonly string[]): void {
    const { status, reason, contentLength, isDated } = head
    const lines = fieldLines(answerHeaders(head, own)) + fieldLines(added)
    const hasLength = (contentLength !== undefined && status !== 204) || added[0] === "content-length"
    this.#response.head(status, `HTTP/1.1 ${status} ${reason}\r\n`, lines, { hasDate: isDated, hasLength })
  }

  flush(): void {
    this.#response.flush()
  }

  write(bytes: Buffer): boolean {
    return this.#response.write(bytes)
  }

  onDrain(drained: () => void): void {
    this.#response.onDrain = drained
  }

  /** The connection itself reads and drops the rest of the request. */
  end(bytes: Buffer | undefined, trailers: readonly string[]): void {
    this.#response.end(bytes, trailers)
  }

  cut(): void {
    this.#response.cut()
  }
}
