// The deadline of a call to a server. Only a deadline notices a server that accepts a request and never answers.

import { notify } from "../../notify.js"
import { afterReading, WaitingTime } from "../../timeouts.js"
import { StoreFailure } from "./store-failure.js"
import type { Timers } from "./timers.js"
import { answerTimers } from "./timers.js"

export interface DeadlineOptions {
  /** Default: the system's. */
  timers?: Timers
  /** Called with the answer to a call that had timed out: now it is known whether the server carried it out. */
  onLate?: (answer: LateAnswer) => void
}

export interface LateAnswer {
  /** What the call rejected with, or undefined if it was carried out. */
  readonly error: unknown
  /** How long after the deadline the answer came, in milliseconds. */
  readonly lateMs: number
}

/**
 * Runs a call and rejects with an ambiguous `StoreFailure` when its answer takes longer than `ms`. Time in which this process was
 * too busy to read the answer does not count. The call may ask whether its deadline has passed.
 */
export function withDeadline<T>(
  call: (hasExpired: () => boolean) => Promise<T>,
  ms: number,
  options: DeadlineOptions = {},
): Promise<T> {
  const { timers = answerTimers, onLate } = options
  return new Promise((resolve, reject) => {
    let expiredAt: number | undefined
    // First, because the call may throw instead of rejecting, and then there is no timer to clear.
    const answer = call(() => expiredAt !== undefined)
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

/**
 * Calls back after `ms`, once answers that have already arrived were read. Time in which this process was too busy to read them
 * does not count.
 */
export function afterAnswers(ms: number, timers: Timers, callback: () => void): () => void {
  const time = new WaitingTime(() => timers.now(), ms)
  const due = time.now() + ms
  let cancelled = false
  let cancelTimer = () => {}
  const wait = (left: number) => {
    cancelTimer = timers.schedule(Math.min(left, time.stepMs), () => {
      time.turn()
      const early = due - time.now()
      if (early > 0) wait(early)
      else
        afterReading(-early, () => {
          if (!cancelled) callback()
        })
    })
  }
  wait(ms)
  return () => {
    cancelled = true
    cancelTimer()
  }
}
