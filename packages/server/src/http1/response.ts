// Writes the answer to one request.

import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { type AtEndOfTurn, atEndOfTurn } from "./end-of-turn.js"
import { fieldLines } from "./fields.js"
import type { Http1Request } from "./request.js"

/** The connection that a response is written to. */
export interface ResponseConnection {
  readonly socket: Socket
  /** Whether the connection takes no other request. */
  readonly isClosing: boolean
  /** The header lines that say that the connection is kept, and for how long. */
  readonly keepAliveLines: string
  /**
   * Whether the rest of the request's body can be read and dropped, so that the connection can be kept. `awaitsContinue` is
   * whether the client still waits for 100 Continue.
   */
  canDropBody(awaitsContinue: boolean): boolean
  /** Called when the last byte of a response has left this process. */
  responded(isLast: boolean): void
}

/** What the head of a response says besides its header lines. */
export interface ResponseFraming {
  /** Whether the lines have a Date. */
  readonly hasDate: boolean
  /** Whether the lines have a Content-Length. */
  readonly hasLength: boolean
}

/**
 * A body up to this size is written as text together with its head. For a larger one, the copy costs more than a second write.
 */
const SMALL_BYTES = 8_192
/** Larger bodies are written piece by piece, so that we notice whether the client receives them. */
const MAX_PIECE_BYTES = 65_536
const DATE_TO_ADD: ResponseFraming = { hasDate: false, hasLength: true }

export class Http1Response implements AtEndOfTurn {
  /** Called once, when the response is out or the client is gone. */
  onOver: (() => void) | undefined = undefined
  /** Called whenever more may be written after `write` has returned false. */
  onDrain: (() => void) | undefined = undefined
  readonly #connection: ResponseConnection
  readonly #request: Http1Request
  /** The part of the head that is not written yet. */
  #head = ""
  #hasHead = false
  #isBodiless = false
  #isChunked = false
  #isLast = false
  #isEnded = false
  /** The last text, until the end of this turn of the event loop. */
  #lastText: string | undefined
  #awaitsContinue: boolean

  constructor(connection: ResponseConnection, request: Http1Request) {
    this.#awaitsContinue = request.expectsContinue
    this.#connection = connection
    this.#request = request
  }

  /** Whether the final head exists. From then on no other answer can be given. */
  get hasHead(): boolean {
    return this.#hasHead
  }

  /** A 1xx answer. HTTP/1.0 has none, so nothing is written then. */
  interim(status: number, headers: readonly string[] = []): void {
    if (this.#request.httpVersionMinor === 0 || this.#hasHead) return
    if (status === 100) this.#awaitsContinue = false
    this.#write(`${statusLine(status)}${fieldLines(headers)}\r\n`)
  }

  /** A whole answer. `lines` are header lines, each with its end, without the length. */
  whole(status: number, lines: string, body: string, isLast = false): void {
    const bytes = Buffer.byteLength(body)
    this.head(status, statusLine(status), `${lines}content-length: ${bytes}\r\n`, DATE_TO_ADD, isLast)
    if (this.#isBodiless) this.#finish("")
    else if (bytes === body.length && bytes <= MAX_PIECE_BYTES) this.#finish(body)
    else this.#finish("", Buffer.from(body))
  }

  /** The head of an answer. It is written with the first piece of the body, or by `flush`. */
  head(status: number, line: string, lines: string, framing: ResponseFraming, isLast = false): void {
    const { httpVersionMinor, method, keepsAlive } = this.#request
    const { hasDate, hasLength } = framing
    this.#hasHead = true
    this.#isBodiless = method === "HEAD" || status === 204 || status === 304
    const hasEnd = hasLength || this.#isBodiless
    this.#isChunked = !hasEnd && httpVersionMinor === 1
    // HTTP/1.0 has no chunks: only the end of the connection can tell where such a body ends.
    const isLastHere = isLast || !keepsAlive || (!hasEnd && !this.#isChunked) || this.#connection.isClosing
    this.#isLast = isLastHere || !this.#connection.canDropBody(this.#awaitsContinue)
    const date = hasDate ? "" : `Date: ${httpDate()}\r\n`
    const kept = this.#isLast ? "Connection: close\r\n" : this.#connection.keepAliveLines
    const encoding = this.#isChunked ? "Transfer-Encoding: chunked\r\n" : ""
    this.#head = `${line}${lines}${date}${kept}${encoding}\r\n`
  }

  flush(): void {
    const head = this.#head
    this.#head = ""
    if (head !== "") this.#write(head)
  }

  /** Returns false if the caller should wait before it writes more. The caller may reuse the bytes afterwards. */
  write(bytes: Buffer): boolean {
    const { socket } = this.#connection
    if (this.#isBodiless || this.#isEnded || !socket.writable) return true
    const start = this.#isChunked ? `${this.#head}${bytes.length.toString(16)}\r\n` : this.#head
    const end = this.#isChunked ? "\r\n" : ""
    this.#head = ""
    if (bytes.length <= SMALL_BYTES) return socket.write(start + bytes.toString("latin1") + end, "latin1")
    socket.cork()
    if (start !== "") socket.write(start, "latin1")
    const hasRoom = socket.write(Buffer.from(bytes))
    if (end !== "") socket.write(end, "latin1")
    socket.uncork()
    return hasRoom
  }

  /** Writes the last piece of the body, if there is one, and the trailers. The caller may reuse the bytes afterwards. */
  end(bytes?: Buffer, trailers: readonly string[] = []): void {
    const piece = bytes === undefined || bytes.length === 0 || this.#isBodiless ? undefined : bytes
    if (this.#isChunked) {
      if (piece !== undefined) this.write(piece)
      this.#finish(`0\r\n${fieldLines(trailers)}\r\n`)
    } else if (piece === undefined) this.#finish("")
    else if (piece.length <= SMALL_BYTES) this.#finish(piece.toString("latin1"))
    else this.#finish("", Buffer.from(piece))
  }

  /** Writes the last text, if it is not written yet. */
  endTurn(): void {
    const text = this.#lastText
    this.#lastText = undefined
    if (text !== undefined) this.#connection.socket.write(text, "latin1", this.#onOut)
  }

  /** Ends the connection in the middle of an answer, so that the client notices that it is cut. */
  cut(): void {
    const { socket } = this.#connection
    // Without a length or chunks an orderly end would look like the end of the answer.
    if (this.#request.httpVersionMinor === 0 && !("encrypted" in socket)) socket.resetAndDestroy()
    else socket.destroy()
  }

  /** Writes nothing more: the connection has refused the request, or the client has disconnected. */
  abandon(): void {
    this.#isEnded = true
    this.#lastText = undefined
    const over = this.onOver
    this.onOver = undefined
    this.onDrain = undefined
    over?.()
  }

  #write(text: string): void {
    const { socket } = this.#connection
    if (!this.#isEnded && socket.writable) socket.write(text, "latin1")
  }

  /** Writes the rest: text with one character per byte, followed by bytes. */
  #finish(text: string, body?: Buffer): void {
    const { socket } = this.#connection
    const last = this.#head + text
    this.#head = ""
    // The close event of the socket reports a client that has disconnected.
    if (this.#isEnded || !socket.writable) return
    this.#isEnded = true
    if (body === undefined) {
      this.#lastText = last
      atEndOfTurn(this)
      return
    }
    socket.cork()
    if (last !== "") socket.write(last, "latin1")
    this.#writePieces(body)
    socket.uncork()
  }

  #writePieces(bytes: Buffer): void {
    const { socket } = this.#connection
    if (bytes.length <= MAX_PIECE_BYTES) {
      socket.write(bytes, this.#onOut)
      return
    }
    socket.write(bytes.subarray(0, MAX_PIECE_BYTES), (error) => {
      if (!error) this.#writePieces(bytes.subarray(MAX_PIECE_BYTES))
    })
  }

  readonly #onOut = (error?: Error | null): void => {
    // The close event of the socket reports it.
    if (error) return
    const over = this.onOver
    this.onOver = undefined
    this.onDrain = undefined
    over?.()
    this.#connection.responded(this.#isLast)
  }
}

/** A refusal of something that is not a request, as the last answer on a connection. */
export function refusalText(status: number, contentType: string, body: string): string {
  const about =
    body === ""
      ? ""
      : `content-type: ${contentType}\r\ncache-control: no-store\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
  return `${statusLine(status)}${about}Connection: close\r\n\r\n${body}`
}

const statusLines = new Map<number, string>()

export function statusLine(status: number): string {
  let line = statusLines.get(status)
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`
    statusLines.set(status, line)
  }
  return line
}

let dateSecond = 0
let date = ""

/** The time as a Date header has it, made once a second. */
function httpDate(): string {
  const now = Date.now()
  if (now - dateSecond >= 1_000 || now < dateSecond) {
    dateSecond = now - (now % 1_000)
    date = new Date(dateSecond).toUTCString()
  }
  return date
}
