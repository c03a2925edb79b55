// An answer written to its connection: a whole one, or what has come of it, in one piece. It is what `node:http` would have
// written.

import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { httpDate } from "../http/http-date.js"
import type { ClientAnswer } from "./client-answer.js"

/** Up to here a body is put behind its head as text of one character a byte; to copy more costs more than a second piece. */
const SMALL_BYTES = 8_192

/** The connection that an answer belongs to. */
export interface AnswerOwner {
  readonly socket: Socket
  /** Whether no other answer comes after this one. */
  readonly isLast: boolean
  /** What says that the connection is kept, and for how long. */
  readonly keptAlive: string
  /** Told when the last byte is out, or why it cannot be. */
  readonly isOut: (error?: Error | null) => void
}

export class DirectAnswer implements ClientAnswer {
  readonly isNext = true
  readonly #owner: AnswerOwner
  readonly #isHead: boolean
  /** What of the head is still to be written. */
  #head = ""
  #isBodiless = false
  #isChunked = false
  /** Whether it says that the connection ends with it. */
  isLast = false
  #onDrain: (() => void) | undefined

  constructor(owner: AnswerOwner, method: string) {
    this.#owner = owner
    this.#isHead = method === "HEAD"
  }

  whole(status: number, headers: string[], body: string, bytes: number): void {
    this.#start(status, STATUS_CODES[status] ?? "", headers)
    if (this.#isBodiless) this.#out(this.#head)
    else if (bytes === body.length) this.#out(this.#head + body)
    else this.#out(this.#head, Buffer.from(body))
  }

  interim(status: number, headers: readonly string[]): void {
    const { socket } = this.#owner
    if (socket.writable) socket.write(`${lines(status, STATUS_CODES[status] ?? "", headers)}\r\n`, "latin1")
  }

  head(status: number, reason: string, headers: string[]): void {
    this.#start(status, reason, headers)
  }

  flush(): void {
    const { socket } = this.#owner
    if (this.#head !== "" && socket.writable) socket.write(this.#head, "latin1")
    this.#head = ""
  }

  write(bytes: Buffer): boolean {
    const { socket } = this.#owner
    if (this.#isBodiless || !socket.writable) return true
    const start = this.#isChunked ? `${this.#head}${bytes.length.toString(16)}\r\n` : this.#head
    this.#head = ""
    if (bytes.length <= SMALL_BYTES)
      return socket.write(start + bytes.toString("latin1") + (this.#isChunked ? "\r\n" : ""), "latin1")
    socket.cork()
    if (start !== "") socket.write(start, "latin1")
    const hasRoom = socket.write(Buffer.from(bytes))
    if (this.#isChunked) socket.write("\r\n", "latin1")
    socket.uncork()
    return hasRoom
  }

  onDrain(told: () => void): void {
    this.#onDrain = told
  }

  /** The client has taken what it had. */
  drained(): void {
    this.#onDrain?.()
  }

  end(bytes: Buffer | undefined, trailers: readonly string[]): void {
    const piece = bytes === undefined || bytes.length === 0 || this.#isBodiless ? undefined : bytes
    if (!this.#isChunked) {
      if (piece === undefined) this.#out(this.#head)
      else if (piece.length <= SMALL_BYTES) this.#out(this.#head + piece.toString("latin1"))
      else this.#out(this.#head, Buffer.from(piece))
      return
    }
    let last = "0\r\n"
    for (let i = 0; i < trailers.length; i += 2) last += `${trailers[i]}: ${trailers[i + 1]}\r\n`
    if (piece !== undefined) this.write(piece)
    this.#out(`${this.#head}${last}\r\n`)
  }

  /** The whole request has been read before it was passed on. */
  linger(bytes: Buffer | undefined, trailers: readonly string[]): void {
    this.end(bytes, trailers)
  }

  cut(): void {
    this.#owner.socket.destroy()
  }

  #start(status: number, reason: string, headers: readonly string[]): void {
    const owner = this.#owner
    this.#isBodiless = this.#isHead || status === 204 || status === 304
    let hasDate = false
    let hasLength = false
    let closes = false
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string
      // The lengths of the names that matter; few other headers have one of them.
      if (name.length === 4) hasDate ||= name.toLowerCase() === "date"
      else if (name.length === 14) hasLength ||= name.toLowerCase() === "content-length"
      else if (name.length === 10) closes ||= name === "connection"
    }
    this.isLast = closes || owner.isLast
    let head = lines(status, reason, headers)
    if (!hasDate) head += `Date: ${httpDate()}\r\n`
    if (!closes) head += owner.isLast ? "Connection: close\r\n" : owner.keptAlive
    this.#isChunked = !hasLength && !this.#isBodiless
    this.#head = this.#isChunked ? `${head}Transfer-Encoding: chunked\r\n\r\n` : `${head}\r\n`
  }

  /** The last that is written. */
  #out(text: string, body?: Buffer): void {
    const { socket, isOut } = this.#owner
    this.#head = ""
    // It has hung up, and is told so by the end of the socket.
    if (!socket.writable) return
    if (body === undefined) {
      socket.write(text, "latin1", isOut)
      return
    }
    socket.cork()
    if (text !== "") socket.write(text, "latin1")
    socket.write(body, isOut)
    socket.uncork()
  }
}

function lines(status: number, reason: string, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${reason}\r\n`
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return text
}
