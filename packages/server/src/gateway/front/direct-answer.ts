// An answer written to its connection: a whole one, or what has come of it, in one piece. It is what `node:http` would have
// written.

import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { httpDate } from "../../http1/http-date.js"
import type { AnswerHead } from "../upstream/answer-head.js"
import { answerLines } from "./answer-headers.js"
import type { ClientAnswer, WholeAnswer } from "./client-answer.js"
import type { OwnHeaders } from "./limiting.js"

/** Up to here a body is put behind its head as text of one character a byte; to copy more costs more than a second piece. */
const SMALL_BYTES = 8_192

/** The connection that an answer belongs to. */
export interface AnswerOwner {
  readonly socket: Socket
  /** Whether no other answer comes after this one. */
  readonly isLast: boolean
  /** What says that the connection is kept, and for how long. */
  readonly keptAlive: string
  /** The same, with the end of the head. */
  readonly keptAliveEnd: string
  /** Told when the last byte is out, or why it cannot be. */
  readonly isOut: (error?: Error | null) => void
}

export class DirectAnswer implements ClientAnswer {
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

  whole(answer: WholeAnswer, own: OwnHeaders | undefined): void {
    const { status, body, bytes, isLast } = answer
    const about = aboutBody(answer.contentType, bytes)
    this.#start(status, statusLine(status), own, isLast ? `connection: close\r\n${about}` : about)
    this.#finishHead(false, true, isLast)
    if (this.#isBodiless) this.#out(this.#head)
    else if (bytes === body.length) this.#out(this.#head + body)
    else this.#out(this.#head, Buffer.from(body))
  }

  interim(status: number, headers: readonly string[]): void {
    const { socket } = this.#owner
    if (socket.writable) socket.write(`${statusLine(status)}${linesOf(headers)}\r\n`, "latin1")
  }

  head(head: AnswerHead, own: OwnHeaders | undefined, added: readonly string[]): void {
    const { status, contentLength } = head
    const lines = answerLines(head, own?.headers.filter((_, i) => i % 2 === 0) ?? NO_NAMES)
    this.#start(status, lineOf(head), own, added.length === 0 ? lines : lines + linesOf(added))
    const hasLength = (contentLength !== undefined && status !== 204) || added[0] === "content-length"
    this.#finishHead(head.isDated, hasLength, false)
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

  #start(status: number, line: string, own: OwnHeaders | undefined, lines: string): void {
    this.#isBodiless = this.#isHead || status === 204 || status === 304
    this.#head = own === undefined ? line + lines : line + linesOf(own.headers) + lines
  }

  /** `closes`: whether it says so already. */
  #finishHead(hasDate: boolean, hasLength: boolean, closes: boolean): void {
    const owner = this.#owner
    let head = this.#head
    this.isLast = closes || owner.isLast
    this.#isChunked = !hasLength && !this.#isBodiless
    if (!hasDate && !this.isLast && !this.#isChunked) {
      this.#head = head + datedEnd(owner.keptAliveEnd)
      return
    }
    if (!hasDate) head += dateLine()
    const end = this.#isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n"
    if (closes) this.#head = head + end
    else if (owner.isLast) this.#head = `${head}Connection: close\r\n${end}`
    else this.#head = head + (this.#isChunked ? owner.keptAlive + end : owner.keptAliveEnd)
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

const NO_NAMES: readonly string[] = []

function linesOf(headers: readonly string[]): string {
  let lines = ""
  for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`
  return lines
}

/** Like all texts that are kept here it is joined, so that it is one piece in the heads it goes into. */
const statusLines = new Map<number, string>()

function statusLine(status: number): string {
  let line = statusLines.get(status)
  if (line === undefined) {
    line = ["HTTP/1.1 ", status, " ", STATUS_CODES[status] ?? "", "\r\n"].join("")
    statusLines.set(status, line)
  }
  return line
}

/** The upstream's own, where it is written as we write it. */
function lineOf({ text, fieldsAt, minorVersion, status, reason }: AnswerHead): string {
  return minorVersion === 1 && reason !== "" ? text.slice(0, fieldsAt) : `HTTP/1.1 ${status} ${reason}\r\n`
}

let date = ""
let lastDateLine = ""

function dateLine(): string {
  const now = httpDate()
  if (now !== date) {
    date = now
    lastDateLine = ["Date: ", now, "\r\n"].join("")
  }
  return lastDateLine
}

let dated = ""
let datedWith = ""
let lastDatedEnd = ""

/** The date and the end of a head in one piece. */
function datedEnd(end: string): string {
  const line = dateLine()
  if (line !== dated || end !== datedWith) {
    dated = line
    datedWith = end
    lastDatedEnd = [line, end].join("")
  }
  return lastDatedEnd
}

let lastType = ""
let lastBytes = -1
let lastAbout = ""

/** What is said of the body of an answer of ours. The next one is often as long. */
function aboutBody(contentType: string, bytes: number): string {
  if (contentType !== lastType || bytes !== lastBytes) {
    lastType = contentType
    lastBytes = bytes
    const type = ["content-type: ", contentType, "\r\n"]
    lastAbout = [...type, "cache-control: no-store\r\n", "content-length: ", bytes, "\r\n"].join("")
  }
  return lastAbout
}
