import { fieldLines } from "../../http1/fields.js"
import type { Http1Response } from "../../http1/response.js"
import type { AnswerHead } from "../upstream/answer-head.js"
import type { ClientAnswer, WholeAnswer } from "./client-answer.js"
import { answerHeaders } from "./headers.js"
import type { OwnHeaders } from "./limiting.js"

/** An answer over HTTP/1.1. */
export class Http1Answer implements ClientAnswer {
  readonly #response: Http1Response

  constructor(response: Http1Response) {
    this.#response = response
  }

  whole({ status, contentType, body, isLast }: WholeAnswer, own: OwnHeaders | undefined): void {
    const lines = fieldLines(own?.headers ?? [])
    this.#response.whole(
      status,
      `${lines}content-type: ${contentType}\r\ncache-control: no-store\r\n`,
      body,
      isLast,
    )
  }

  interim(status: number, headers: readonly string[]): void {
    this.#response.interim(status, headers)
  }

  head(head: AnswerHead, own: OwnHeaders | undefined, added: readonly string[]): void {
    const { status, reason, contentLength, isDated } = head
    const lines = fieldLines(answerHeaders(head, [...(own?.headers ?? [])])) + fieldLines(added)
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

  /** The connection reads and drops what is left of the request by itself. */
  end(bytes: Buffer | undefined, trailers: readonly string[]): void {
    this.#response.end(bytes, trailers)
  }

  cut(): void {
    this.#response.cut()
  }
}
