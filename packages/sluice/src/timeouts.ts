// Timeouts of equal length on one timer. Nearly every entry leaves before its time is up, and creating and clearing a timer
// for each would cost ten times as much.

import { MAX_TIMEOUT_MS } from "./clock.js"

/** What waits in `Timeouts`, in one list at a time. Only the list sets `dueAt`, `previous` and `next`. */
export interface TimeoutEntry {
  /** By the time of the list. */
  dueAt: number
  previous: TimeoutEntry | undefined
  next: TimeoutEntry | undefined
  /** Called when the time is up, after the entry has left the list. */
  expire(): void
}

export interface TimeoutsOptions {
  /** Whether the process stays alive while an entry waits. Default: false. */
  keepsProcessAlive?: boolean
  /**
   * For entries that wait for an answer: time in which this process was too busy to read sockets does not count, and entries
   * expire only after the sockets were read. Default: false.
   */
  awaitsAnswers?: boolean
  /** A clock that never steps, in milliseconds. Default: `performance.now`. */
  now?: () => number
  /** Default: `systemAlarm`. */
  alarm?: (callback: () => void) => Alarm
}

/** A list of entries that all wait for the same time, in the order in which they were added. */
export class Timeouts {
  readonly #ms: number
  readonly #time: WaitingTime
  readonly #alarm: Alarm
  readonly #keepsProcessAlive: boolean
  readonly #awaitsAnswers: boolean
  #isSet = false
  #first: TimeoutEntry | undefined
  #last: TimeoutEntry | undefined

  /** `ms` may be Infinity: then no entry expires. */
  constructor(ms: number, options: TimeoutsOptions = {}) {
    this.#ms = ms
    this.#awaitsAnswers = options.awaitsAnswers ?? false
    this.#time = new WaitingTime(
      options.now ?? (() => performance.now()),
      this.#awaitsAnswers ? ms : Number.POSITIVE_INFINITY,
    )
    this.#alarm = (options.alarm ?? systemAlarm)(() => this.#onAlarm())
    this.#keepsProcessAlive = options.keepsProcessAlive ?? false
  }

  get isEmpty(): boolean {
    return this.#first === undefined
  }

  /** `now` saves reading the clock, in a list in which all time counts. */
  add(entry: TimeoutEntry, now?: number): void {
    if (!this.#isSet) this.#time.turn()
    entry.dueAt = (now ?? this.#time.now()) + this.#ms
    entry.previous = this.#last
    if (this.#last === undefined) {
      this.#first = entry
      if (this.#keepsProcessAlive) this.#alarm.hold(true)
    } else this.#last.next = entry
    this.#last = entry
    if (!this.#isSet) this.#set(this.#ms)
  }

  /** Does nothing if the entry is not in the list. */
  remove(entry: TimeoutEntry): void {
    const { previous, next } = entry
    if (previous === undefined && this.#first !== entry) return
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    entry.previous = undefined
    entry.next = undefined
    // The timer keeps running while the list is empty: the next entry usually comes before it fires.
    if (this.#first === undefined && this.#keepsProcessAlive) this.#alarm.hold(false)
  }

  #set(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return
    this.#isSet = true
    this.#alarm.set(Math.min(ms, this.#time.stepMs))
  }

  /** The timer counts as set until entries have expired, so that an entry that is added meanwhile does not set it later. */
  #onAlarm(): void {
    this.#time.turn()
    if (this.#first === undefined) {
      this.#isSet = false
      return
    }
    const now = this.#time.now()
    const early = this.#first.dueAt - now
    if (early > 0) this.#set(early)
    else if (this.#awaitsAnswers) afterReading(-early, () => this.#expire(now))
    else this.#expire(now)
  }

  /** Expires every entry that was due at `now`. */
  #expire(now: number): void {
    while (this.#first !== undefined && this.#first.dueAt <= now) {
      const entry = this.#first
      this.remove(entry)
      entry.expire()
    }
    if (this.#first === undefined) this.#isSet = false
    else this.#set(Math.max(0, this.#first.dueAt - this.#time.now()))
  }
}

/** A wait for an answer is cut into this many steps, each with a timer of its own. */
const STEPS = 10
/** A longer wait has more steps than that. */
const MAX_STEP_MS = 5
/** A turn of the event loop counts as at most this many steps. */
const MAX_STEPS_PER_TURN = 2

/**
 * The time that a wait has lasted, without the time in which this process was too busy to notice an answer. A timer fires in
 * every step of the wait. Where it fires much later, the event loop was blocked, and only the first two steps of that turn count.
 * So a wait ends on time in a process that is idle or has many short tasks, and a process that is blocked for longer than the
 * whole wait still gets five turns of its event loop to read the answer. A turn counts at least one step: no wait is endless.
 */
export class WaitingTime {
  /** The longest time between two calls of `turn` while somebody waits. Infinity if all time counts. */
  readonly stepMs: number
  readonly #clock: () => number
  #counted: number
  #turnedAt: number

  /** For waits of `ms` each. Infinity counts all time. */
  constructor(clock: () => number, ms: number) {
    this.#clock = clock
    this.#turnedAt = clock()
    this.#counted = this.#turnedAt
    this.stepMs = ms === Number.POSITIVE_INFINITY ? ms : Math.min(Math.max(ms / STEPS, 1), MAX_STEP_MS)
  }

  /** In milliseconds, by the clock as long as all time counts. */
  now(): number {
    return this.#counted + Math.min(this.#clock() - this.#turnedAt, this.stepMs * MAX_STEPS_PER_TURN)
  }

  /** The event loop has made a turn: the timer of a step fired, or a first wait begins. */
  turn(): void {
    this.#counted = this.now()
    this.#turnedAt = this.#clock()
  }
}

/** A callback that can be set again and again. */
export interface Alarm {
  /** Calls back after `ms`. */
  set(ms: number): void
  /** Sets whether the process stays alive until the callback. At first it does not. */
  hold(isHeld: boolean): void
}

export function systemAlarm(callback: () => void): Alarm {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isHeldNow = false
  return {
    set(ms) {
      // Rounded up, because a timer drops fractions and would fire too early.
      timer = setTimeout(callback, Math.min(Math.ceil(ms), MAX_TIMEOUT_MS))
      if (!isHeldNow) timer.unref()
    },
    hold(isHeld) {
      isHeldNow = isHeld
      if (isHeld) timer?.ref()
      else timer?.unref()
    },
  }
}

/** A timer that fires later than this shows that the event loop was blocked. Less is the usual precision of timers. */
const LATE_MS = 1

/**
 * Calls back after the sockets were read. A timer fires before Node reads sockets, and after the event loop was blocked an
 * answer is often waiting there. One turn of the loop reads it; a timer that was late by `lateMs` gets two, because the first
 * turn may be busy with other work that has piled up.
 */
export function afterReading(lateMs: number, callback: () => void): void {
  if (lateMs > LATE_MS) setImmediate(() => setImmediate(callback))
  else setImmediate(callback)
}
