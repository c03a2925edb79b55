// One connection of HTTP/1.1: reads a request, waits until its answer is sent, and reads the next.

import type { Socket } from "node:net"
import { LAST_CALL_MS } from "../listener.js"
import { BodyReader, type BodySink } from "./body-reader.js"
import { type AtEndOfTurn, atEndOfTurn } from "./end-of-turn.js"
import { HeadReader, InvalidMessage } from "./fields.js"
import { BodyStream, Http1Request } from "./request.js"
import { Http1Response, type ResponseConnection, refusalText } from "./response.js"

export interface Http1Handler {
  /** Answers a request. Its body may still be on its way. Sets `onOver` of the response to learn how it ends. */
  handle(request: Http1Request, response: Http1Response): void
  /**
   * Takes over the socket of a client that asks to speak another protocol, with the bytes that follow the head. Without this
   * method an upgrade is ignored, and the request is handled like any other (RFC 9110, 7.8).
   */
  upgrade?(request: Http1Request, socket: Socket, rest: Buffer): void
  /**
   * Returns the body of a refusal, which is sent when the bytes are not a valid request (400, 431, 501, 505) or are late (408).
   */
  refusal?(status: number): { readonly contentType: string; readonly body: string }
  /** Whether a client that ends its side of the connection cancels its request. If false, the client still gets its answer. */
  readonly endsWithClient: boolean
}

export interface Http1Limits {
  /** The most bytes of a head, including its line ends. */
  readonly maxHeaderBytes: number
  readonly maxHeaders: number
  /** How long a head may take to arrive. Here and below, 0 means no limit. */
  readonly headTimeoutMs: number
  /** How long a head and its body may take together. */
  readonly requestTimeoutMs: number
  /** How long an idle connection is kept. */
  readonly keepAliveMs: number
}

/** What all connections of a listener share. */
export interface ConnectionContext {
  readonly handler: Http1Handler
  readonly limits: Http1Limits
  readonly keepAliveLines: string
}

/** How many bytes a client may send ahead of an answer before its socket is paused. */
const MAX_AHEAD_BYTES = 65_536
/** A body up to this size is handed over together with its head, if it has arrived completely. */
const MAX_WHOLE_BODY_BYTES = 65_536
/** Requests of one connection that are handled in a row before other connections have their turn. */
const MAX_IN_A_ROW = 16
/** How much of an unwanted body is read and dropped to keep the connection. */
const MAX_DROPPED_TO_KEEP = 65_536
/**
 * How many bytes are read and dropped after the last answer, and for how long. Closing while bytes arrive resets the
 * connection, and the client may lose the answer.
 */
const MAX_LINGER_BYTES = 4 * 1_048_576
const LINGER_MS = 2_000
const METHOD_START = /^[A-Z-]+(?: |$)/
const CR = 0x0d
const LF = 0x0a

export class Http1Connection implements AtEndOfTurn, ResponseConnection, BodySink {
  readonly socket: Socket
  readonly keepAliveLines: string
  /** Whether the connection accepts no request after the current one. */
  isClosing = false
  /** The deadline of the client, by `performance.now()`. */
  dueAt: number
  readonly #handler: Http1Handler
  readonly #limits: Http1Limits
  readonly #head: HeadReader
  readonly #body = new BodyReader(this)
  /** Bytes that have arrived and are not read yet. */
  #rest: Buffer | undefined
  #response: Http1Response | undefined
  #stream: BodyStream | undefined
  /** Whether a request has arrived before. */
  #wasUsed = false
  /** Whether reading is paused until the consumer of the body has room. */
  #isBodyHeld = false
  #bodyLeft = 0
  #headStartedAt = 0
  #inARow = 0
  /** Whether `endTurn` is going to be called. */
  #awaitsEndOfTurn = false
  #hasEnded = false
  /** Bytes that may still be read and dropped after the last answer. Undefined before that. */
  #lingerLeft: number | undefined

  constructor(socket: Socket, { handler, limits, keepAliveLines }: ConnectionContext) {
    this.socket = socket
    this.keepAliveLines = keepAliveLines
    this.#handler = handler
    this.#limits = limits
    this.#head = new HeadReader(limits.maxHeaderBytes)
    this.dueAt = performance.now() + (limits.headTimeoutMs || Infinity)
    socket.on("data", this.#onData).on("end", this.#onEnd).on("drain", this.#onDrain)
    socket.on("close", this.#onClose).on("error", ignore)
  }

  /** Whether no request is waiting for its answer, not even a partial one. */
  get isIdle(): boolean {
    return this.#response === undefined && !this.#head.hasPart && this.#rest === undefined
  }

  /** The next answer announces that it is the last one. */
  closeAfterNext(): void {
    this.isClosing = true
  }

  /**
   * Ends the connection of a client that missed its deadline. Sends 408 if a request is incomplete, or if none has ever
   * arrived.
   */
  expired(): void {
    const isForgotten = this.isIdle && (this.#wasUsed || this.isClosing)
    if (this.#lingerLeft !== undefined || isForgotten) this.socket.destroy()
    else this.#refuse(408)
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#lingerLeft !== undefined) {
      this.#lingerLeft -= bytes.length
      if (this.#lingerLeft < 0) this.socket.destroy()
      return
    }
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    this.#inARow = 0
    // A body is read as it arrives.
    if (!this.#body.isOver) this.#advance()
    else if (this.#response === undefined && !this.#awaitsEndOfTurn) {
      this.#awaitsEndOfTurn = true
      atEndOfTurn(this)
    }
    if (this.#rest !== undefined && this.#rest.length > MAX_AHEAD_BYTES) this.socket.pause()
  }

  endTurn(): void {
    this.#awaitsEndOfTurn = false
    this.#advance()
    if (this.#hasEnded) this.#onEnd()
    else this.#resumeIfRead()
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    this.#response?.endTurn()
    if (this.#lingerLeft !== undefined) this.socket.destroy()
    else if (this.#isInMessage) this.#refuse(400)
    else if (this.#response !== undefined) {
      // The answer is dropped when the socket closes.
      if (this.#handler.endsWithClient) this.socket.end()
      // Requests that wait for their turn are answered first.
    } else if (this.#rest === undefined) this.#close()
  }

  /** Whether a head or a body has begun and is not complete. */
  get #isInMessage(): boolean {
    return this.#head.hasPart || !this.#body.isOver
  }

  readonly #onDrain = (): void => this.#response?.onDrain?.()

  readonly #onClose = (): void => {
    this.dueAt = Infinity
    this.#rest = undefined
    this.#stream?.destroy()
    this.#stream = undefined
    this.#response?.abandon()
    this.#response = undefined
  }

  /** Reads as much as can be read now. */
  #advance(): void {
    try {
      while (this.#rest !== undefined && this.#lingerLeft === undefined && !this.socket.destroyed) {
        const bytes = this.#rest
        let at: number
        if (!this.#body.isOver) {
          if (this.#isBodyHeld) return
          at = this.#body.read(bytes, 0)
        } else if (this.#response === undefined) {
          if (this.#inARow >= MAX_IN_A_ROW) {
            setImmediate(this.#continue)
            return
          }
          at = this.#readHead(bytes)
        } else return
        // The handler of the request may have closed the connection or taken it over.
        if (this.#rest === bytes) this.#rest = at < bytes.length ? bytes.subarray(at) : undefined
      }
    } catch (error) {
      if (!(error instanceof InvalidMessage)) throw error
      this.#refuse(error.status)
    }
  }

  readonly #continue = (): void => {
    this.#inARow = 0
    this.#advance()
    this.#resumeIfRead()
  }

  #resumeIfRead(): void {
    const { socket } = this
    if (socket.isPaused() && (this.#rest?.length ?? 0) <= MAX_AHEAD_BYTES && !this.#isBodyHeld)
      socket.resume()
    if (this.#hasEnded && this.#rest === undefined && this.#response === undefined) this.#onEnd()
  }

  /** Reads a head, or a part of it. Returns where it stopped. */
  #readHead(bytes: Buffer): number {
    let at = 0
    // RFC 9112, 2.2: an empty line before a request is ignored. It starts no deadline.
    if (!this.#head.hasPart) while (bytes[at] === CR || bytes[at] === LF) at++
    if (at === bytes.length) return at
    if (!this.#head.hasPart) {
      this.#headStartedAt = performance.now()
      this.dueAt = this.#headStartedAt + (this.#limits.headTimeoutMs || Infinity)
    }
    const end = this.#head.read(bytes, at, headTooLarge)
    if (end < 0) {
      // Bytes that cannot begin a request, such as those of TLS, are refused at once.
      if (!METHOD_START.test(this.#head.start)) throw new InvalidMessage("does not start with a method")
      return bytes.length
    }
    const request = new Http1Request(this.#head.text, this.#limits.maxHeaders, this.socket)
    this.#wasUsed = true
    return this.#start(request, bytes, end)
  }

  /** Hands over a request. Returns where its body was read to. */
  #start(request: Http1Request, bytes: Buffer, at: number): number {
    const { framing } = request
    let next = at
    if (request.asksForUpgrade && this.#handler.upgrade !== undefined) {
      this.#detach()
      this.#handler.upgrade(request, this.socket, bytes.subarray(at))
      return bytes.length
    }
    if (typeof framing === "number" && framing <= MAX_WHOLE_BODY_BYTES && at + framing <= bytes.length) {
      next = at + framing
      if (framing > 0) request.body = bytes.subarray(at, next)
    } else if (framing !== "none") {
      this.#body.begin(framing)
      this.#isBodyHeld = false
      this.#bodyLeft = typeof framing === "number" ? framing : Infinity
      this.#stream = new BodyStream(this.#readBody)
      request.bodyStream = this.#stream
    }
    const { requestTimeoutMs } = this.#limits
    this.dueAt = this.#body.isOver ? Infinity : this.#headStartedAt + (requestTimeoutMs || Infinity)
    this.#inARow++
    this.#response = new Http1Response(this, request)
    this.#handler.handle(request, this.#response)
    return next
  }

  body(bytes: Buffer): void {
    this.#bodyLeft -= bytes.length
    if (this.#stream?.push(bytes) === false) this.#isBodyHeld = true
  }

  ended(trailers: readonly string[]): void {
    const stream = this.#stream
    this.#stream = undefined
    this.#bodyLeft = 0
    if (stream === undefined) return
    this.dueAt = Infinity
    stream.rawTrailers = trailers
    stream.push(null)
  }

  /** The consumer of the body has room again. */
  readonly #readBody = (): void => {
    if (!this.#isBodyHeld) return
    this.#isBodyHeld = false
    // Not at once: a stream asks for more while it is still being given data.
    process.nextTick(this.#continueBody)
  }

  readonly #continueBody = (): void => {
    if (this.socket.destroyed) return
    this.#advance()
    this.#resumeIfRead()
  }

  canDropBody(awaitsContinue: boolean): boolean {
    // A client that waits for 100 Continue may never send its body.
    return this.#body.isOver || (!awaitsContinue && this.#bodyLeft <= MAX_DROPPED_TO_KEEP)
  }

  responded(isLast: boolean): void {
    this.#response = undefined
    if (isLast) {
      this.#stream?.destroy()
      this.#close()
      return
    }
    if (!this.#body.isOver) this.#dropBody()
    this.dueAt = performance.now() + (this.isClosing ? LAST_CALL_MS : this.#limits.keepAliveMs || Infinity)
    if (this.#rest !== undefined) this.#advance()
    this.#resumeIfRead()
  }

  /** Reads the rest of a body that nobody wants, up to its end. */
  #dropBody(): void {
    this.#isBodyHeld = false
    this.#stream?.destroy()
    this.#stream = undefined
  }

  /** Refuses bytes that are not a request, and ends the connection. Nothing that follows is read. */
  #refuse(status: number): void {
    const response = this.#response
    this.#response = undefined
    response?.endTurn()
    // An answer that has begun can only be cut.
    const mayAnswer = response?.hasHead !== true && this.socket.writable
    if (mayAnswer) {
      const { contentType, body } = this.#handler.refusal?.(status) ?? { contentType: "", body: "" }
      this.socket.write(refusalText(status, contentType, body))
      this.#close()
    } else this.socket.destroy()
    this.#stream?.destroy()
    this.#stream = undefined
    response?.abandon()
  }

  /** Ends our side, and drops what the client still sends until it ends its own. */
  #close(): void {
    this.#rest = undefined
    this.#head.reset()
    this.#lingerLeft = MAX_LINGER_BYTES
    this.dueAt = performance.now() + LINGER_MS
    this.socket.end()
    if (this.socket.isPaused()) this.socket.resume()
  }

  /** Releases the socket. */
  #detach(): void {
    const { socket } = this
    this.dueAt = Infinity
    this.#rest = undefined
    socket.off("data", this.#onData).off("end", this.#onEnd).off("drain", this.#onDrain)
    socket.off("close", this.#onClose).off("error", ignore)
    if (socket.isPaused()) socket.resume()
  }
}

function headTooLarge(): never {
  throw new InvalidMessage("has a head that is too large", 431)
}

/** The close of a socket reports its errors. */
function ignore(): void {}
