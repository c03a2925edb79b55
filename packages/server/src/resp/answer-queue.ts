// Replies in the order of their commands, when some have to be waited for.

import type { ReplyWriter } from "./reply-writer.js"
import type { Answer } from "./throttle.js"

interface Waiting {
  answer: Answer | undefined
  /** Of an answer that is there. */
  readonly bytes: number
}

export class AnswerQueue {
  #waiting: Waiting[] = []
  readonly #onReady: () => void
  #bytes = 0

  /** `onReady` is told when the first in line can be answered. */
  constructor(onReady: () => void) {
    this.#onReady = onReady
  }

  get length(): number {
    return this.#waiting.length
  }

  /** Bytes of answers that are there, and wait for others. */
  get bytes(): number {
    return this.#bytes
  }

  /** An answer that comes later. `toAnswer` makes one of a failure. */
  wait(promise: Promise<Answer>, toAnswer: (error: unknown) => Answer): void {
    const waiting: Waiting = { answer: undefined, bytes: 0 }
    this.#waiting.push(waiting)
    const settle = (answer: Answer) => {
      waiting.answer = answer
      if (this.#waiting[0] === waiting) this.#onReady()
    }
    promise.then(settle, (error) => settle(toAnswer(error)))
  }

  /** An answer that is there, but has to wait for those before it. */
  follow(bytes: Buffer): void {
    this.#waiting.push({ answer: (reply) => reply.raw(bytes), bytes: bytes.length })
    this.#bytes += bytes.length
  }

  /** Writes all that can be answered. */
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
