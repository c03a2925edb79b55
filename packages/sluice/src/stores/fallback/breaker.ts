// A circuit breaker: refuses calls to a server that does not answer, and probes it until it answers again.

import { notify } from "../../notify.js"
import { afterAnswers, withDeadline } from "./deadline.js"
import type { FailureKind } from "./store-failure.js"
import type { Timers } from "./timers.js"
import { backgroundTimers } from "./timers.js"

/** closed: calls pass. open: calls are refused. half-open: the server answered a probe, and a few calls may try. */
export type BreakerState = "closed" | "open" | "half-open"

export interface BreakerChange {
  readonly from: BreakerState
  readonly to: BreakerState
}

/** When a breaker opens, and how often it probes. */
export interface BreakerThresholds {
  /** Consecutive failures that open the breaker. Default: 3. */
  failures?: number
  /** The share of failures among the last 20 calls that opens the breaker. Default: 0.5. */
  failureRate?: number
  /** The longest pause between two probes. It grows to five times that while probes fail. Default: 100. */
  probeEveryMs?: number
}

export interface BreakerOptions extends BreakerThresholds {
  /** A small call that succeeds if the server works. It may take at most `deadlineMs`, and can ask whether they have passed. */
  probe: (hasExpired: () => boolean) => Promise<void>
  deadlineMs: number
  onChange?: (change: BreakerChange) => void
  /** From 0 to below 1. Default: `Math.random`. */
  random?: () => number
  timers?: Timers
}

/** Two refused or lost connections open the breaker: they are certain, where a timeout may be a delay. */
const CONNECTION_FAILURES = 2
const FAILED_PROBES = 2
/** The breaker opens if no call succeeds for this long after a failure. 250 ms are promised; timers may be late. */
const OPEN_WITHIN_MS = 225
const PROBE_GROWTH = 5
/** Concurrent calls while half-open. */
const TRIAL_CALLS = 8
const RECENT_CALLS = 20
const RECENT_MASK = 2 ** RECENT_CALLS - 1

/** Failures that show that the server answers. They concern one key and do not count as failures of the server. */
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
  /** The last 20 calls, one bit each; 1 means failed. */
  #recent = 0
  /** Whether a call failed and none succeeded since. */
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

  /** Whether a call may go to the server. If true, the caller reports the end of the call by `succeeded` or `failed`. */
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

  /** Stops probing for good and refuses all calls from now on. */
  close(): void {
    this.#ended = true
    this.#calm()
    this.#stopProbing()
    this.#state = "open"
  }

  /** Probes the server after a first failure, instead of waiting for more calls to fail. */
  #doubt(): void {
    this.#suspect = true
    this.#failedProbes = 0
    this.#stopSuspectTimer = afterAnswers(OPEN_WITHIN_MS, this.#timers, () => this.#open())
    // Probes keep their distance, so that an occasional slow answer does not double the load.
    this.#probeIn(Math.max(0, this.#lastProbe + this.#probeEveryMs - this.#timers.now()))
  }

  /** The server answered. */
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
    // Without traffic, a second successful probe closes the breaker.
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

  /** Full jitter, so that the instances of a fleet do not probe at the same time. */
  #pause(): number {
    const growth = Math.min(2 ** this.#failedProbes, PROBE_GROWTH)
    return this.#random() * this.#probeEveryMs * growth
  }

  /** Schedules a probe, unless one is scheduled or running. */
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
