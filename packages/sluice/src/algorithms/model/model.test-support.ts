// What the contract says, as plainly as it can be said, for comparison with the real thing. Slow on purpose: whole numbers
// of any size, and every answer found from its definition by search instead of by formula.

import type { Policy } from "../algorithm.js"
import { type Calendar, IntlCalendar } from "../calendar.js"

/** The numbers of a policy. Times in microseconds. */
export interface Terms {
  readonly limit: bigint
  readonly window: bigint
  readonly capacity: bigint
  readonly buckets: bigint
  readonly anchored: boolean
  readonly queue: boolean
  /** Start and end of the window of a calendar that contains a time. */
  readonly windowAt: ((time: bigint) => readonly [bigint, bigint]) | undefined
}

/** An algorithm over values that never change: each step makes a new state. `undefined` is a key never used. */
export interface Model<State> {
  /** Whether units beyond the capacity take longer to go than those within it. */
  readonly drains?: boolean
  /** The state as it is at `now` in these terms. */
  settle(terms: Terms, state: State | undefined, now: bigint): State
  /** Units charged and still counting in a settled state, rounded up. */
  used(terms: Terms, state: State, now: bigint): bigint
  /** Whether the cost fits into a settled state. */
  fits(terms: Terms, state: State, cost: bigint, now: bigint): boolean
  /** A settled state with that much more, or less, charged. */
  add(terms: Terms, state: State, cost: bigint, now: bigint): State
  take(terms: Terms, state: State, cost: bigint): State
}

export interface Answer {
  allowed: boolean
  remaining: number
  used: number
  retryAfter: number
  resetAfter: number
  delay: number
}

export class ModelKey<State> {
  readonly #model: Model<State>
  #state: State | undefined

  constructor(model: Model<State>) {
    this.#model = model
  }

  decide(terms: Terms, cost: bigint, now: bigint): Answer {
    const model = this.#model
    const before = model.settle(terms, this.#state, now)
    const allowed = model.fits(terms, before, cost, now)
    const after = allowed && cost > 0n ? model.add(terms, before, cost, now) : before
    const most = longestWait(terms, model.drains ? model.used(terms, after, now) : 0n)
    const idleAt = (state: State, t: bigint) => model.used(terms, model.settle(terms, state, t), t) === 0n
    // A peek asks when one unit passes.
    const asked = cost === 0n ? 1n : cost
    const fitsAt = (state: State, t: bigint) => model.fits(terms, model.settle(terms, state, t), asked, t)
    return {
      allowed,
      remaining: Number(largest(terms.capacity, (units) => model.fits(terms, after, units, now))),
      used: Number(model.used(terms, after, now)),
      retryAfter:
        cost > terms.capacity ? Infinity : Number(smallest(most, (wait) => fitsAt(before, now + wait))),
      resetAfter: Number(smallest(most, (wait) => idleAt(after, now + wait))),
      delay: terms.queue && allowed ? Number(smallest(most, (wait) => idleAt(before, now + wait))) : 0,
    }
  }

  /** Charges without asking; a cost of 0 settles. */
  charge(terms: Terms, cost: bigint, now: bigint): void {
    const settled = this.#model.settle(terms, this.#state, now)
    this.#state = cost > 0n ? this.#model.add(terms, settled, cost, now) : settled
  }

  /** At most what is charged now; nothing is written when nothing is. */
  refund(terms: Terms, cost: bigint, now: bigint): void {
    const settled = this.#model.settle(terms, this.#state, now)
    if (this.#model.used(terms, settled, now) > 0n) this.#state = this.#model.take(terms, settled, cost)
  }

  used(terms: Terms, now: bigint): number {
    return Number(this.#model.used(terms, this.#model.settle(terms, this.#state, now), now))
  }
}

export function termsOf(policy: Policy): Terms {
  return {
    limit: BigInt(policy.limit),
    window: BigInt(policy.window),
    capacity: BigInt(policy.capacity),
    buckets: BigInt(policy.buckets),
    anchored: policy.anchored,
    queue: policy.queue,
    windowAt:
      policy.calendar === undefined ? undefined : (time) => windowOf(policy.calendar as Calendar, time),
  }
}

type Window = readonly [start: bigint, end: bigint]

/** The windows that were found last, by calendar: a search asks for the same few again and again. */
const windows = new Map<string, Window[]>()

function windowOf({ unit, timeZone }: Calendar, time: bigint): Window {
  const name = `${unit} ${timeZone}`
  const known = windows.get(name) ?? []
  let window = known.find(([start, end]) => start <= time && time < end)
  if (window === undefined) {
    // calendar.test.ts holds the calendar to the definition of its windows.
    const calendar = new IntlCalendar(unit, timeZone)
    calendar.find(Number(time))
    window = [BigInt(calendar.start), BigInt(calendar.end)]
    windows.set(name, [window, ...known].slice(0, 32))
  }
  return window
}

/** Longer than any wait: a state one window ahead, then twice the time that all that fits, or all that drains, takes to go. */
function longestWait(terms: Terms, draining: bigint): bigint {
  return terms.window * (4n + (2n * max(terms.capacity, draining)) / terms.limit)
}

/** The smallest value from 0 to `most` that holds, for what holds for ever once it holds. */
function smallest(most: bigint, holds: (value: bigint) => boolean): bigint {
  if (holds(0n)) return 0n
  let below = 0n
  let above = most
  while (above - below > 1n) {
    const middle = (below + above) / 2n
    if (holds(middle)) above = middle
    else below = middle
  }
  return above
}

/** The largest value from 0 to `most` that holds, for what holds for all smaller ones too; 0 if none does. */
function largest(most: bigint, holds: (value: bigint) => boolean): bigint {
  return most - smallest(most, (less) => holds(most - less))
}

export function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b)
}

export function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

export function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
