// Keeps replies in the order of their commands when some of them wait for the store.

import type { ReplyWriter } from "./reply-writer.js"
import type { Answer } from "./throttle.js"

interface Waiting {
  answer: Answer | undefined
  /** The size of a reply that is ready; 0 for others. */
  readonly bytes: number
}

export class AnswerQueue {
  #waiting: Waiting[] = []
  readonly #onReady: () => void
  #bytes = 0

  /** `onReady` is called when the first reply in the queue is ready. */
  constructor(onReady: () => void) {
    this.#onReady = onReady
  }

  get length(): number {
    return this.#waiting.length
  }

  /** Bytes of replies that are ready and wait for those before them. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a reply that comes later. `toAnswer` turns a failure into a reply. */
  wait(promise: Promise<Answer>, toAnswer: (error: unknown) => Answer): void {
    const waiting: Waiting = { answer: undefined, bytes: 0 }
    this.#waiting.push(waiting)
    const settle = (answer: Answer) => {
      waiting.answer = answer
      if (this.#waiting[0] === waiting) this.#onReady()
    }
    promise.then(settle, (error) => settle(toAnswer(error)))
  }

  /** Adds a reply that is ready but has to wait for those before it. */
  follow(bytes: Buffer): void {
    this.#waiting.push({ answer: (reply) => reply.raw(bytes), bytes: bytes.length })
    this.#bytes += bytes.length
  }

  /** Writes the replies at the front of the queue that are ready. */
  write(reply: ReplyWriter): void {
    let written = 0
    for (const { answer, bytes } of this.#waiting) {
      if (answer === undefined) break
      answer(reply)
      this.#bytes -= bytes
      written++
    }
    if (written > 0) this.#waiting = this.#waiting.slice(written)
  }

  clear(): void {
    this.#waiting = []
    this.#bytes = 0
  }
}
