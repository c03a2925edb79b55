// An answer over HTTP/2, by node:http2.

import type { IncomingMessage, ServerResponse } from "node:http"
import {
  constants,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
} from "node:http2"
import type { DeniedAnswer } from "sluice/http"
import { MAX_DISCARDED_BYTES } from "../../http/body.js"
import type { AnswerHead } from "../upstream/answer-parser.js"
import type { ClientAnswer } from "./client-answer.js"
import { answerHeaders, wholeHeaders } from "./headers.js"

/** How long a client may go on sending a request that is answered before its stream is closed. */
const LINGER_MS = 2_000
/** A stream is polled after this time, then at growing intervals, until its last frame is written. */
const FIRST_LOOK_MS = 2
const LAST_LOOK_MS = 500

export class Http2Answer implements ClientAnswer {
  readonly #request: IncomingMessage
  readonly #response: Http2ServerResponse
  readonly #stream: ServerHttp2Stream

  constructor(request: Http2ServerRequest, response: Http2ServerResponse) {
    this.#request = request as unknown as IncomingMessage
    this.#response = response
    this.#stream = response.stream
  }

  whole(answer: DeniedAnswer, own: readonly string[]): void {
    const stream = this.#stream
    if (stream.destroyed || stream.headersSent) return
    // The compatibility response would end the stream with trailers, after two more turns of the event loop.
    stream.respond({ ":status": answer.status, ...grouped(wholeHeaders(answer, own)) })
    // The answer to HEAD ends with its head.
    if (!stream.writableEnded) stream.end(answer.body)
    this.#dropRest()
  }

  interim(status: number, headers: readonly string[]): void {
    const stream = this.#stream
    if (!stream.destroyed && !stream.headersSent)
      stream.additionalHeaders({ ":status": status, ...grouped(headers) })
  }

  head(head: AnswerHead, own: readonly string[], added: readonly string[]): void {
    this.#response.writeHead(head.status, grouped([...answerHeaders(head, own), ...added]))
  }

  flush(): void {
    // The method exists, but the types of node:http2 do not declare it.
    ;(this.#response as unknown as ServerResponse).flushHeaders()
  }

  write(bytes: Buffer): boolean {
    return this.#response.write(Buffer.from(bytes))
  }

  onDrain(drained: () => void): void {
    this.#response.on("drain", drained)
  }

  end(bytes: Buffer | undefined, trailers: readonly string[], isRead: boolean): void {
    const response = this.#response
    if (trailers.length > 0) response.addTrailers(grouped(trailers))
    if (bytes === undefined) response.end()
    else response.end(Buffer.from(bytes))
    if (!isRead) this.#dropRest()
  }

  cut(): void {
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  /**
   * Reads and drops the rest of the request. A client that goes on sending has its stream closed, but not before its answer has
   * ended: clients take an answer that is reset before END_STREAM for one that was cut.
   */
  #dropRest(): void {
    const request = this.#request
    const stream = this.#stream
    if (!stream.endAfterHeaders) {
      let left = MAX_DISCARDED_BYTES
      const stop = (): void => {
        clearTimeout(timer)
        request.off("data", onData).pause()
        onceEnded(stream, () => stream.close(constants.NGHTTP2_NO_ERROR))
      }
      const onData = (bytes: Buffer): void => {
        left -= bytes.length
        if (left < 0) stop()
      }
      const timer = setTimeout(stop, LINGER_MS)
      request.on("data", onData).once("end", () => clearTimeout(timer))
      stream.once("close", () => clearTimeout(timer))
    }
    request.resume()
  }
}

/** Calls `then` when the last frame is written, for which node:http2 has no event. Never calls it if the stream closes first. */
function onceEnded(stream: ServerHttp2Stream, then: () => void): void {
  let wait = FIRST_LOOK_MS
  const look = (): void => {
    if (stream.destroyed) return
    if (stream.state.localClose === 1) {
      then()
      return
    }
    setTimeout(look, wait)
    wait = Math.min(wait * 2, LAST_LOOK_MS)
  }
  if (stream.writableFinished) look()
  else stream.once("finish", look)
}

/** Headers as an object for node:http2. Only Set-Cookie keeps several lines; others are joined by a comma. */
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
