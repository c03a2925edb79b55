// The deadlines of many calls, kept by one timer. All have the same time to answer, so they fall due in the order they
// started; a timer of its own for each would be a tenth of what a lone call costs here.

import { afterReading } from "./deadline.js"
import type { Alarm } from "./timers.js"
import { systemAlarm } from "./timers.js"

/** A call that is waited for. */
export abstract class Timed {
  due = 0
  /** Answered, or expired. */
  isOver = false
  /** The one that started after it. */
  next: Timed | undefined = undefined

  /** Called when the answer takes too long. */
  abstract expire(): void
}

export interface DeadlinesOptions {
  /** A clock that never steps, in ms. Default: the system's. */
  now?: () => number
  alarm?: (callback: () => void) => Alarm
}

export class Deadlines {
  readonly #ms: number
  readonly #now: () => number
  readonly #alarm: Alarm
  #isSet = false
  #oldest: Timed | undefined
  #newest: Timed | undefined

  constructor(ms: number, options: DeadlinesOptions = {}) {
    this.#ms = ms
    this.#now = options.now ?? (() => performance.now())
    this.#alarm = (options.alarm ?? systemAlarm)(() => this.#ring())
  }

  /** Whether nothing is under way. */
  get isIdle(): boolean {
    return this.#newest === undefined
  }

  start(call: Timed): void {
    call.due = this.#now() + this.#ms
    if (this.#newest === undefined) {
      this.#oldest = call
      // Somebody waits for the answer, so the process stays for it.
      this.#alarm.hold(true)
    } else this.#newest.next = call
    this.#newest = call
    if (!this.#isSet) this.#set(this.#ms)
  }

  end(call: Timed): void {
    call.isOver = true
    while (this.#oldest?.isOver) {
      const { next } = this.#oldest
      // A call that is never answered must not keep all those after it in memory.
      this.#oldest.next = undefined
      this.#oldest = next
    }
    if (this.#oldest !== undefined || this.#newest === undefined) return
    this.#newest = undefined
    // The timer is left to run out: the next call often starts before.
    this.#alarm.hold(false)
  }

  #set(ms: number): void {
    this.#isSet = true
    this.#alarm.set(ms)
  }

  /** Until the answers are read the timer counts as set: what starts meanwhile must not put off what is due before it. */
  #ring(): void {
    if (this.#oldest === undefined) {
      this.#isSet = false
      return
    }
    const now = this.#now()
    const early = this.#oldest.due - now
    if (early > 0) this.#set(early)
    else afterReading(-early, () => this.#expire(now))
  }

  /** Ends all that were due at `now`. */
  #expire(now: number): void {
    while (this.#oldest !== undefined && this.#oldest.due <= now) {
      const call = this.#oldest
      this.end(call)
      call.expire()
    }
    if (this.#oldest === undefined) this.#isSet = false
    else this.#set(Math.max(0, this.#oldest.due - this.#now()))
  }
}
