// An upstream's answers, from the bytes of its connection, however they are cut.

import { BodyReader, type BodySink, type Framing } from "../../http1/body-reader.js"
import { HeadReader, hasWord, InvalidMessage } from "../../http1/fields.js"
import { type AnswerHead, parseAnswerHead } from "./answer-head.js"

/** Receives what an answer holds, in its order. */
export interface AnswerReader extends BodySink {
  /** A 1xx answer other than 101. */
  informed(head: AnswerHead): void
  headed(head: AnswerHead): void
  /** A 101 answer: what follows is another protocol, and its first bytes may be here already. */
  switched(head: AnswerHead, rest: Buffer): void
}

export interface Asked {
  /** The answer to HEAD has the headers of a body, and no body. */
  readonly isHead: boolean
  readonly isUpgrade: boolean
}

const MAX_HEAD_BYTES = 65_536
const MAX_INFORMED = 16
const NO_TRAILERS: readonly string[] = []

export class AnswerParser {
  readonly #reader: AnswerReader
  readonly #head = new HeadReader(MAX_HEAD_BYTES)
  readonly #body: BodyReader
  #asked: Asked = { isHead: false, isUpgrade: false }
  #isInHead = false
  #informed = 0
  #keepsAlive = false
  #hasBytes = false

  constructor(reader: AnswerReader) {
    this.#reader = reader
    this.#body = new BodyReader(reader)
  }

  /** Prepares for the answer to a request. */
  begin(asked: Asked): void {
    this.#asked = asked
    this.#isInHead = true
    this.#informed = 0
    this.#hasBytes = false
    this.#head.reset()
    this.#body.begin("none")
  }

  get isOver(): boolean {
    return !this.#isInHead && this.#body.isOver
  }

  /** Whether anything at all has come of the answer. */
  get hasBytes(): boolean {
    return this.#hasBytes
  }

  /** Whether the connection may be used again, once the answer is over. */
  get keepsAlive(): boolean {
    return this.#keepsAlive
  }

  /** Reads on. Throws InvalidMessage. Bytes behind the end of an answer were not asked for: the connection is not kept. */
  read(bytes: Buffer): void {
    this.#hasBytes = true
    let at = 0
    while (at < bytes.length) {
      if (this.#isInHead) at = this.#readHead(bytes, at)
      else if (!this.#body.isOver) at = this.#body.read(bytes, at)
      else {
        this.#keepsAlive = false
        return
      }
    }
  }

  /** The connection has ended. Returns false when the answer is not complete. */
  end(): boolean {
    return !this.#isInHead && this.#body.end()
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = this.#head.read(bytes, at, headTooLarge)
    if (end < 0) return bytes.length
    const head = parseAnswerHead(this.#head.text)
    const { status } = head
    if (status === 101) {
      if (!this.#asked.isUpgrade) throw new InvalidMessage("switches protocols without being asked to")
      this.#isInHead = false
      this.#keepsAlive = false
      this.#reader.switched(head, bytes.subarray(end))
      return bytes.length
    }
    if (status < 200) {
      if (++this.#informed > MAX_INFORMED) throw new InvalidMessage("has too many interim answers")
      this.#reader.informed(head)
      return end
    }
    this.#startBody(head)
    return end
  }

  #startBody(head: AnswerHead): void {
    const { connection } = head
    const framing = framingOf(head, this.#asked)
    this.#isInHead = false
    this.#keepsAlive =
      framing !== "until-close" &&
      (head.minorVersion === 1 ? !hasWord(connection, "close") : hasWord(connection, "keep-alive"))
    this.#body.begin(framing)
    const isEmpty = this.#body.isOver
    this.#reader.headed(head)
    if (isEmpty) this.#reader.ended(NO_TRAILERS)
  }
}

function framingOf({ status, isChunked, contentLength }: AnswerHead, { isHead }: Asked): Framing {
  if (isHead || status === 204 || status === 304) return "none"
  return isChunked ? "chunked" : (contentLength ?? "until-close")
}

function headTooLarge(): never {
  throw new InvalidMessage("has a head that is too large")
}
