import type { Clock } from "./clock.js"
import { systemClock } from "./clock.js"
import type { Decision } from "./decision.js"

/** How a turnstile asks about one request. */
export interface Question {
  check(): Promise<Decision>
  peek(): Promise<Decision>
}

interface Waiting extends Question {
  readonly deadline: number
  readonly resolve: (decision: Decision) => void
  readonly reject: (reason: unknown) => void
  /** Cancels the one timer this request may have. */
  stopTimer: () => void
  /** Ends the wait, whatever it was doing. */
  gone: boolean
}

/**
 * Lets waiting requests through one by one, first come, first served per key. Only the first in line asks the store; the
 * others wait for it.
 */
export class Turnstile {
  readonly #clock: Clock
  readonly #lines = new Map<string, Waiting[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  pass(
    key: string,
    question: Question,
    signal?: AbortSignal,
    maxWaitMs = Number.POSITIVE_INFINITY,
  ): Promise<Decision> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      const onAbort = () => this.#leave(key, waiting, () => reject(signal?.reason))
      const done = () => signal?.removeEventListener("abort", onAbort)
      const waiting: Waiting = {
        ...question,
        deadline: this.#clock.now() + maxWaitMs,
        resolve: (decision) => {
          done()
          resolve(decision)
        },
        reject: (reason) => {
          done()
          reject(reason)
        },
        stopTimer: () => {},
        gone: false,
      }
      signal?.addEventListener("abort", onAbort, { once: true })
      const line = this.#lines.get(key)
      if (line === undefined) {
        this.#lines.set(key, [waiting])
        void this.#ask(key, waiting)
      } else {
        line.push(waiting)
        if (maxWaitMs !== Number.POSITIVE_INFINITY) {
          this.#after(waiting, maxWaitMs, () => void this.#giveUp(key, waiting))
        }
      }
    })
  }

  /** Rejects everyone who waits. */
  close(reason: unknown): void {
    for (const [key, line] of this.#lines) {
      for (const waiting of [...line]) this.#leave(key, waiting, () => waiting.reject(reason))
    }
  }

  /** The first in line asks, again and again, as often as it is told to come back. */
  async #ask(key: string, waiting: Waiting): Promise<void> {
    try {
      const decision = await waiting.check()
      if (waiting.gone) return
      if (decision.allowed) {
        this.#leave(key, waiting, () => this.#hold(waiting, decision))
      } else if (
        this.#clock.now() + decision.retryAfterMs > waiting.deadline ||
        decision.retryAfterMs === Number.POSITIVE_INFINITY
      ) {
        this.#leave(key, waiting, () => waiting.resolve(decision))
      } else {
        this.#after(waiting, decision.retryAfterMs, () => void this.#ask(key, waiting))
      }
    } catch (error) {
      this.#leave(key, waiting, () => waiting.reject(error))
    }
  }

  /** A request from a queueing leaky bucket has its place, and its time. */
  #hold(waiting: Waiting, decision: Decision): void {
    if (decision.delayMs === 0) waiting.resolve(decision)
    else this.#after(waiting, decision.delayMs, () => waiting.resolve(decision))
  }

  /** Its time is up while others are still in front. */
  async #giveUp(key: string, waiting: Waiting): Promise<void> {
    this.#leave(key, waiting, () => {
      waiting
        .peek()
        .then((state) => waiting.resolve({ ...state, allowed: false, deniedBy: "wait" }), waiting.reject)
    })
  }

  #leave(key: string, waiting: Waiting, then: () => void): void {
    if (waiting.gone) return
    waiting.gone = true
    waiting.stopTimer()
    const line = this.#lines.get(key) as Waiting[]
    const wasFirst = line[0] === waiting
    line.splice(line.indexOf(waiting), 1)
    const next = line[0]
    if (next === undefined) this.#lines.delete(key)
    else if (wasFirst) {
      next.stopTimer()
      void this.#ask(key, next)
    }
    then()
  }

  #after(waiting: Waiting, ms: number, callback: () => void): void {
    const clock = this.#clock.schedule === undefined ? systemClock : this.#clock
    waiting.stopTimer = clock.schedule?.(ms, callback) ?? waiting.stopTimer
  }
}
