// An answer by `node:http`.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import { MOST_DISCARDED_BYTES } from "../../http/body.js"
import type { AnswerHead } from "../upstream/answer-head.js"
import { answerHeaders } from "./answer-headers.js"
import { type ClientAnswer, type WholeAnswer, wholeHeaders } from "./client-answer.js"
import type { OwnHeaders } from "./limiting.js"

const LINGER_MS = 2_000
/** So much is read and thrown away for the sake of keeping the connection. */
const SPARED_BYTES = 65_536
const SMALL_BYTES = 8_192

export class NodeAnswer implements ClientAnswer {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
  }

  whole(answer: WholeAnswer, own: OwnHeaders | undefined): void {
    const request = this.#request
    const response = this.#response
    const { status, body } = answer
    const headers = wholeHeaders(answer, own)
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
    if (response.socket === null || this.#request.httpVersionMinor === 0) return
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`
    for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
    response.socket.write(`${text}\r\n`, "latin1")
  }

  head(head: AnswerHead, own: OwnHeaders | undefined, added: readonly string[]): void {
    const headers = answerHeaders(head, [...(own?.headers ?? [])])
    headers.push(...added)
    this.#response.writeHead(head.status, head.reason, headers)
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
    // Without a length or chunks, an orderly end would look like the end of the answer.
    if (this.#request.httpVersionMinor === 0 && socket !== null && "resetAndDestroy" in socket)
      socket.resetAndDestroy()
    else response.destroy()
  }

  #addTrailers(trailers: readonly string[]): void {
    if (trailers.length === 0) return
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
}

/** Whether what is left of the body is so little that `node:http` may read it and keep the connection. */
function mayDiscard({ headers }: IncomingMessage): boolean {
  if (headers["transfer-encoding"] !== undefined) return false
  const length = headers["content-length"]
  // Whoever awaits leave to send its body has not sent it, and `node:http` closes the connection.
  return length === undefined || Number(length) <= SPARED_BYTES || headers.expect !== undefined
}
