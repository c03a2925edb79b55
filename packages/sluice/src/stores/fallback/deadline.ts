// How long an answer may take. The one thing that notices a server that accepts a question and never answers.

import { notify } from "../../notify.js"
import { StoreFailure } from "./store-failure.js"
import type { Timers } from "./timers.js"
import { answerTimers } from "./timers.js"

export interface DeadlineOptions {
  /** Default: the system's. */
  timers?: Timers
  /** Told of the answer to a call that had timed out: its charge has happened, or has not, after all. */
  onLate?: (answer: LateAnswer) => void
}

export interface LateAnswer {
  /** What the call rejected with in the end, or undefined if it was carried out. */
  readonly error: unknown
  /** How long after the deadline, in milliseconds. */
  readonly lateMs: number
}

/** A timer later than this shows that the event loop was held up. Below it is the ordinary granularity of timers. */
const LATE_MS = 1

/** Runs a call and rejects with an ambiguous `StoreFailure` when its answer takes longer than `ms`. */
export function withDeadline<T>(
  call: () => Promise<T>,
  ms: number,
  options: DeadlineOptions = {},
): Promise<T> {
  const { timers = answerTimers, onLate } = options
  return new Promise((resolve, reject) => {
    // A call that throws instead of rejecting is caught here, before there is a timer to clear.
    const answer = call()
    let expiredAt: number | undefined
    const cancel = afterAnswers(ms, timers, () => {
      expiredAt = timers.now()
      reject(new StoreFailure("timeout", `no answer within ${ms} ms`, { ambiguous: true }))
    })
    const answered = (error: unknown) => {
      cancel()
      if (expiredAt !== undefined) notify(onLate, { error, lateMs: timers.now() - expiredAt })
    }
    answer.then(
      (value) => {
        answered(undefined)
        resolve(value)
      },
      (error) => {
        answered(error)
        reject(error)
      },
    )
  })
}

/** Calls back after `ms`, but not before what has already arrived was read. */
export function afterAnswers(ms: number, timers: Timers, callback: () => void): () => void {
  const due = timers.now() + ms
  let cancelled = false
  const cancelTimer = timers.schedule(ms, () => {
    afterReading(timers.now() - due, () => {
      if (!cancelled) callback()
    })
  })
  return () => {
    cancelled = true
    cancelTimer()
  }
}

/**
 * Lets the sockets be read before a timer's callback, which was late by `lateMs`: a timer runs before them, and after a
 * pause of our own event loop the answer is often waiting there. One turn of the loop reads it; after a pause two, since
 * the first may be filled with other work that piled up.
 */
export function afterReading(lateMs: number, callback: () => void): void {
  if (lateMs > LATE_MS) setImmediate(() => setImmediate(callback))
  else setImmediate(callback)
}
