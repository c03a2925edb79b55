// An answer by `node:http`. That of `node:http2` looks the same but for its heads and trailers, and how it ends.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Http2ServerResponse, ServerHttp2Stream } from "node:http2"
import { MOST_DISCARDED_BYTES } from "../http/body.js"
import type { AnswerHead } from "./answer-head.js"
import { answerHeaders } from "./answer-headers.js"
import { type ClientAnswer, type WholeAnswer, wholeHeaders } from "./client-answer.js"
import { isHttp2 } from "./client-request.js"
import type { OwnHeaders } from "./limiting.js"

const LINGER_MS = 2_000
/** So much is read and thrown away for the sake of keeping the connection. */
const SPARED_BYTES = 65_536
const SMALL_BYTES = 8_192
/** HTTP/2, error code INTERNAL_ERROR. */
const INTERNAL_ERROR = 2

export class NodeAnswer implements ClientAnswer {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #isHttp2: boolean

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
    this.#isHttp2 = isHttp2(request)
  }

  get isNext(): boolean {
    return this.#response.socket !== null
  }

  get #stream(): ServerHttp2Stream {
    return (this.#response as unknown as Http2ServerResponse).stream as ServerHttp2Stream
  }

  whole(answer: WholeAnswer, own: OwnHeaders | undefined): void {
    const request = this.#request
    const response = this.#response
    const { status, body } = answer
    const headers = wholeHeaders(answer, own)
    if (this.#isHttp2) {
      response.writeHead(status, grouped(headers))
      response.end(body)
      this.#endStream()
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
    this.#linger()
  }

  interim(status: number, headers: readonly string[]): void {
    const response = this.#response
    if (status === 100) {
      response.writeContinue()
      return
    }
    if (this.#isHttp2) {
      const stream = this.#stream
      if (!stream.destroyed && !stream.headersSent)
        stream.additionalHeaders({ ":status": status, ...grouped(headers) })
      return
    }
    if (response.socket === null || this.#request.httpVersionMinor === 0) return
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`
    for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
    response.socket.write(`${text}\r\n`, "latin1")
  }

  head(head: AnswerHead, own: OwnHeaders | undefined, added: readonly string[]): void {
    const headers = answerHeaders(head, own?.headers() ?? [])
    headers.push(...added)
    if (this.#isHttp2) this.#response.writeHead(head.status, grouped(headers))
    else this.#response.writeHead(head.status, head.reason, headers)
  }

  flush(): void {
    this.#response.flushHeaders()
  }

  write(bytes: Buffer): boolean {
    return this.#response.write(Buffer.from(bytes))
  }

  onDrain(told: () => void): void {
    this.#response.on("drain", told)
  }

  end(bytes: Buffer | undefined, trailers: readonly string[]): void {
    const response = this.#response
    this.#addTrailers(trailers)
    if (bytes === undefined) response.end()
    // As text of one character a byte it leaves with its head in one piece, and not in two that have to be put together.
    else if (bytes.length <= SMALL_BYTES) response.end(bytes.toString("latin1"), "latin1")
    else response.end(Buffer.from(bytes))
  }

  linger(bytes: Buffer | undefined, trailers: readonly string[]): void {
    this.#addTrailers(trailers)
    if (bytes !== undefined) this.write(bytes)
    this.#linger()
  }

  cut(): void {
    const response = this.#response
    const { socket } = response
    if (this.#isHttp2) this.#stream.close(INTERNAL_ERROR)
    // Without a length or chunks, an orderly end would look like the end of the answer.
    else if (this.#request.httpVersionMinor === 0 && socket !== null && "resetAndDestroy" in socket)
      socket.resetAndDestroy()
    else response.destroy()
  }

  #addTrailers(trailers: readonly string[]): void {
    if (trailers.length === 0) return
    if (this.#isHttp2) {
      ;(this.#response as unknown as Http2ServerResponse).addTrailers(grouped(trailers))
      return
    }
    const pairs: [string, string][] = []
    for (let i = 0; i < trailers.length; i += 2)
      pairs.push([trailers[i] as string, trailers[i + 1] as string])
    this.#response.addTrailers(pairs)
  }

  /**
   * Ends an answer whose request is still coming. To close while bytes arrive is to reset, and the client may lose what it was
   * told; so a little more is read first. A client that has understood stops sending.
   */
  #linger(): void {
    const request = this.#request
    const response = this.#response
    if (this.#isHttp2) {
      response.end()
      this.#endStream()
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
  #endStream(): void {
    if (this.#request.complete) return
    const stream = this.#stream
    // That of the response would wait for the request, which does not end.
    if (stream.writableFinished) stream.close()
    else stream.once("finish", () => stream.close())
  }
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

/** Whether what is left of the body is so little that `node:http` may read it and keep the connection. */
function mayDiscard({ headers }: IncomingMessage): boolean {
  if (headers["transfer-encoding"] !== undefined) return false
  const length = headers["content-length"]
  // Whoever awaits leave to send its body has not sent it, and `node:http` closes the connection.
  return length === undefined || Number(length) <= SPARED_BYTES || headers.expect !== undefined
}
