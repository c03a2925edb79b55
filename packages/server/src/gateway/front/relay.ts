// Passes an upstream's answer on to the client, no faster than the client receives it.

import type { AnswerHead } from "../upstream/answer-parser.js"
import type { ClientAnswer } from "./client-answer.js"
import { isHttp2 } from "./client-request.js"
import { byName, passedTrailers } from "./headers.js"
import type { RequestContext } from "./request-context.js"
import { usageReader } from "./response-usage.js"

export class Relay {
  readonly #context: RequestContext
  readonly #answer: ClientAnswer
  readonly #drained: () => void
  #head: AnswerHead | undefined
  /** The last piece of the body. It waits for the next one, so that a small answer is sent in one write. */
  #piece: Buffer | undefined
  #isHeadWritten = false
  #hearsDrain = false
  #awaitsClient = false

  /** `drained` is called when more may be written. */
  constructor(context: RequestContext, answer: ClientAnswer, drained: () => void) {
    this.#context = context
    this.#answer = answer
    this.#drained = drained
  }

  get hasHead(): boolean {
    return this.#head !== undefined
  }

  /** Whether the head is written: no other answer can be given then. */
  get isHeadWritten(): boolean {
    return this.#isHeadWritten
  }

  /** Whether the client has to receive what was written before more is. */
  get awaitsClient(): boolean {
    return this.#awaitsClient
  }

  head(head: AnswerHead): void {
    const context = this.#context
    const { admission } = context
    this.#head = head
    if (admission?.mustSettle !== true) return
    context.answerHeaders = byName(head.headers)
    context.usage = usageReader(admission, context.answerHeaders)
  }

  /** Returns false when the client has to receive what was written before more is read. */
  body(bytes: Buffer): boolean {
    this.#context.usage?.write(bytes)
    const hasRoom = this.#piece === undefined || this.flush()
    this.#piece = bytes
    return hasRoom
  }

  /** Writes everything that has arrived. Returns false as `body` does. */
  flush(): boolean {
    const piece = this.#piece
    const answer = this.#answer
    this.#piece = undefined
    if (!this.#isHeadWritten) {
      this.#writeHead(undefined)
      if (piece === undefined) answer.flush()
    }
    if (piece === undefined) return true
    this.#context.bytesOut += piece.length
    if (answer.write(piece)) return true
    this.#awaitsClient = true
    if (!this.#hearsDrain) answer.onDrain(() => this.#taken())
    this.#hearsDrain = true
    return false
  }

  #taken(): void {
    this.#awaitsClient = false
    this.#drained()
  }

  /** `isRead` is whether the upstream has read the whole request. */
  end(trailers: readonly string[], isRead: boolean): void {
    const context = this.#context
    const piece = this.#piece
    const passed = trailers.length === 0 ? trailers : passedTrailers(trailers)
    context.isAnswered = true
    if (context.admission?.mustSettle === true && trailers.length > 0)
      context.answerTrailers = byName(trailers)
    if (!this.#isHeadWritten) this.#writeHead(passed.length === 0 ? (piece?.length ?? 0) : undefined)
    context.bytesOut += piece?.length ?? 0
    this.#answer.end(piece, passed, isRead)
  }

  /** `length` is that of the whole body, where all of it has arrived. */
  #writeHead(length: number | undefined): void {
    const head = this.#head as AnswerHead
    const context = this.#context
    const { request } = context
    const { status } = head
    let added = NOTHING
    if (head.isChunked && request.method !== "HEAD" && status !== 204 && status !== 304) {
      if (length !== undefined) added = ["content-length", String(length)]
      else if (isHttp2(request) || request.httpVersionMinor === 1) added = trailerNames(head)
    }
    this.#answer.head(head, context.limitHeaders, added)
    context.status = status
    this.#isHeadWritten = true
  }
}

const NOTHING: readonly string[] = []

function trailerNames({ headers }: AnswerHead): string[] {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    if ((headers[i] as string).toLowerCase() === "trailer") kept.push("trailer", headers[i + 1] as string)
  }
  return kept
}
