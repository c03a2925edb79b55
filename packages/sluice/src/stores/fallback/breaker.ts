// Keeps calls away from a server that does not answer, and finds out by itself when it does again.

import { notify } from "../../notify.js"
import { afterAnswers, withDeadline } from "./deadline.js"
import type { FailureKind } from "./store-failure.js"
import type { Timers } from "./timers.js"
import { backgroundTimers } from "./timers.js"

/** closed: calls pass. open: calls are refused. half-open: it answered a probe, and a few calls may try. */
export type BreakerState = "closed" | "open" | "half-open"

export interface BreakerChange {
  readonly from: BreakerState
  readonly to: BreakerState
}

export interface BreakerOptions {
  /** A small call that succeeds when the server can serve. Its time is bounded by `deadlineMs`. */
  probe: () => Promise<void>
  deadlineMs: number
  /** Failures in a row that open it. Default: 3. */
  failures?: number
  /** The share of the last 20 calls that may fail. Default: 0.5. */
  failureRate?: number
  /** The longest pause between two probes at first; it grows to five times that while the server stays away. Default: 100. */
  probeEveryMs?: number
  onChange?: (change: BreakerChange) => void
  /** From 0 to below 1. Default: `Math.random`. */
  random?: () => number
  timers?: Timers
}

/** A refused or lost connection is a fact, not a delay: two are enough. */
const CONNECTION_FAILURES = 2
const FAILED_PROBES = 2
/** After one failed call nothing has to be heard of the server for this long. 250 ms are promised, timers may be late. */
const OPEN_WITHIN_MS = 225
const PROBE_GROWTH = 5
/** Calls under way at once while half-open. */
const TRIAL_CALLS = 8
const RECENT_CALLS = 20
const RECENT_MASK = 2 ** RECENT_CALLS - 1

/** The server answered, and would answer other calls too: one odd key must not close the door to all. */
const ANSWERS: ReadonlySet<FailureKind> = new Set(["wrong-type", "other"])

export class Breaker {
  readonly #options: BreakerOptions
  readonly #timers: Timers
  readonly #random: () => number
  readonly #failures: number
  readonly #recentFailures: number
  readonly #probeEveryMs: number
  #state: BreakerState = "closed"
  #inARow = 0
  /** The last 20 calls, one bit each, set when it failed. */
  #recent = 0
  /** A call failed and nothing was heard of the server since. */
  #suspect = false
  #failedProbes = 0
  #trials = 0
  #probing = false
  #lastProbe = Number.NEGATIVE_INFINITY
  #stopProbeTimer: (() => void) | undefined
  #stopSuspectTimer: (() => void) | undefined
  #ended = false

  constructor(options: BreakerOptions) {
    this.#options = options
    this.#timers = options.timers ?? backgroundTimers
    this.#random = options.random ?? Math.random
    this.#failures = options.failures ?? 3
    this.#recentFailures = Math.ceil((options.failureRate ?? 0.5) * RECENT_CALLS)
    this.#probeEveryMs = options.probeEveryMs ?? 100
  }

  get state(): BreakerState {
    return this.#state
  }

  /** Whether a call may go to the server. If so, tell how it went with `succeeded` or `failed`. */
  tryEnter(): boolean {
    if (this.#state === "closed") return true
    if (this.#state === "open" || this.#trials >= TRIAL_CALLS) return false
    this.#trials++
    return true
  }

  succeeded(): void {
    if (this.#state === "half-open") this.#close()
    else if (this.#state === "closed") {
      this.#inARow = 0
      this.#recent = (this.#recent << 1) & RECENT_MASK
      if (this.#suspect) this.#calm()
    }
  }

  failed(kind: FailureKind): void {
    if (kind === "breaker-open") return
    if (ANSWERS.has(kind)) this.succeeded()
    else if (this.#state === "half-open") this.#open()
    else if (this.#state === "closed") {
      this.#inARow++
      this.#recent = ((this.#recent << 1) | 1) & RECENT_MASK
      const most = kind === "connection" ? Math.min(CONNECTION_FAILURES, this.#failures) : this.#failures
      if (this.#inARow >= most || ones(this.#recent) >= this.#recentFailures) this.#open()
      else if (!this.#suspect) this.#doubt()
    }
  }

  /** Ends probing for good. Calls are refused from now on. */
  close(): void {
    this.#ended = true
    this.#calm()
    this.#stopProbing()
    this.#state = "open"
  }

  /** Asks at once instead of waiting for traffic to find out. */
  #doubt(): void {
    this.#suspect = true
    this.#failedProbes = 0
    this.#stopSuspectTimer = afterAnswers(OPEN_WITHIN_MS, this.#timers, () => this.#open())
    // Now and then a slow answer must not double the load: probes keep their distance.
    this.#probeIn(Math.max(0, this.#lastProbe + this.#probeEveryMs - this.#timers.now()))
  }

  /** Something was heard of the server. */
  #calm(): void {
    this.#suspect = false
    this.#stopSuspectTimer?.()
    this.#stopSuspectTimer = undefined
    if (this.#state === "closed") this.#stopProbing()
  }

  #open(): void {
    this.#calm()
    this.#stopProbing()
    this.#failedProbes = 0
    this.#become("open")
    this.#probeIn(this.#pause())
  }

  #halfOpen(): void {
    this.#trials = 0
    this.#become("half-open")
    // Without traffic a second answered probe closes it.
    this.#probeIn(this.#probeEveryMs)
  }

  #close(): void {
    this.#stopProbing()
    this.#inARow = 0
    this.#recent = 0
    this.#become("closed")
  }

  #become(to: BreakerState): void {
    const from = this.#state
    this.#state = to
    notify(this.#options.onChange, { from, to })
  }

  /** Full jitter, so that a fleet does not probe in step. */
  #pause(): number {
    const growth = Math.min(2 ** this.#failedProbes, PROBE_GROWTH)
    return this.#random() * this.#probeEveryMs * growth
  }

  /** One probe at a time: while one is under way, its end decides about the next. */
  #probeIn(ms: number): void {
    if (this.#ended || this.#probing || this.#stopProbeTimer !== undefined) return
    this.#stopProbeTimer = this.#timers.schedule(ms, () => {
      this.#stopProbeTimer = undefined
      this.#probe()
    })
  }

  #stopProbing(): void {
    this.#stopProbeTimer?.()
    this.#stopProbeTimer = undefined
  }

  #probe(): void {
    const { probe, deadlineMs } = this.#options
    this.#probing = true
    this.#lastProbe = this.#timers.now()
    withDeadline(probe, deadlineMs, { timers: this.#timers }).then(
      () => this.#probed(true),
      () => this.#probed(false),
    )
  }

  #probed(answered: boolean): void {
    this.#probing = false
    if (this.#ended) return
    if (answered) {
      if (this.#state === "open") this.#halfOpen()
      else if (this.#state === "half-open") this.#close()
      else if (this.#suspect) this.#calm()
    } else if (this.#state === "half-open") this.#open()
    else if (this.#state === "open" || this.#suspect) {
      this.#failedProbes++
      if (this.#suspect && this.#failedProbes >= FAILED_PROBES) this.#open()
      else this.#probeIn(this.#pause())
    }
  }
}

function ones(bits: number): number {
  let count = 0
  for (let left = bits; left !== 0; left &= left - 1) count++
  return count
}
