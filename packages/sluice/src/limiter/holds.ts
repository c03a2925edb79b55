/// <reference lib="esnext.disposable" preserve="true" />

// Holds of a limiter: acquire, release, extend, and the wait for a free place. A limiter loads this file with its first
// acquire, because most limiters have no limit of concurrency.

import type { CheckOptions } from "../call-options.js"
import type { Decision } from "../decision.js"
import { checkFields, checkType } from "../options.js"
import type { HoldId } from "../stores/hold-id.js"
import { newHoldId } from "../stores/hold-id.js"
import type { LeasingStore } from "../stores/leases/leasing-store.js"
import type { Charge, Degraded, Outcome, Store } from "../stores/store.js"
import { isSyncStore } from "../stores/store.js"
import type { WaitQueue } from "./wait-queue.js"

export interface AcquireOptions {
  /** How many units to hold. Default: 1. A cost of 0 decides and holds nothing. */
  cost?: number
  /** Overrides the limit for this call. */
  limit?: number
  /** The longest wait for a free place in milliseconds, first come, first served per key. Default: 0. */
  maxWaitMs?: number
  /** Ends the wait. The promise rejects with its reason. */
  signal?: AbortSignal
}

/** A place that is held until it is released, or until the `hold` of its limit is over. */
export interface Hold extends AsyncDisposable {
  /** After so many milliseconds the hold ends by itself: the shortest `hold` of its limits. Infinity if nothing is held. */
  readonly holdMs: number
  /** Frees the place. The first call counts. A hold that has ended by itself is left alone. */
  release(): Promise<void>
  /** Lets the hold begin again, so that it ends `hold` from now. Resolves to false if it has ended already. */
  extend(): Promise<boolean>
}

/** The decision of `acquire`, with the hold if it is allowed. */
export interface AcquiredDecision extends Decision {
  hold?: Hold
}

/** What holds need of their limiter. */
export interface HoldingLimiter {
  readonly store: Store
  /** The store, if it takes leases. */
  readonly leasing: LeasingStore | undefined
  readonly onStoreFailure: Degraded
  charges(key: string, options: Omit<CheckOptions, "at"> | undefined, id: HoldId): Charge[]
  decisionOf(options: Omit<CheckOptions, "at"> | undefined, outcome: Outcome): Decision
  /** Decides a charge that is the only one of its check at once. Undefined if the limiter cannot. */
  acquireSync(charge: Charge): Decision | undefined
  peek(key: string): Promise<Decision>
  /** The time of a call in microseconds, or undefined if the store's clock decides. */
  at(): number | undefined
  /** A time in milliseconds, for durations. */
  now(): number
  openWaitQueue(): Promise<WaitQueue>
}

const ACQUIRE_FIELDS = ["cost", "limit", "maxWaitMs", "signal"]
/** How often the first that waits for a key asks again, because other processes release without a word. */
const ASK_EVERY_MS = 50

/** Not every runtime has `Symbol.asyncDispose`. */
const ASYNC_DISPOSE: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")

/** How many requests wait for a key, and what tells the first of them that a hold on the key was released here. */
interface Line {
  waiting: number
  released: Promise<void>
  wake: () => void
}

export class Holds {
  readonly #limiter: HoldingLimiter
  /** By key. */
  readonly #lines = new Map<string, Line>()

  constructor(limiter: HoldingLimiter) {
    this.#limiter = limiter
  }

  async acquire(key: string, options: AcquireOptions | undefined): Promise<AcquiredDecision> {
    if (options === undefined) return this.#ask(key, options)
    checkFields(options, ACQUIRE_FIELDS, "acquire")
    const { signal, maxWaitMs } = options
    checkType(signal, "acquire.signal", "an AbortSignal", (value) => value instanceof AbortSignal)
    checkType(maxWaitMs, "acquire.maxWaitMs", "milliseconds ≥ 0", (ms) => typeof ms === "number" && ms >= 0)
    signal?.throwIfAborted()
    return maxWaitMs === undefined || maxWaitMs === 0
      ? this.#ask(key, options)
      : this.#wait(key, options, maxWaitMs)
  }

  /** Asks once. */
  #ask(key: string, options: AcquireOptions | undefined): AcquiredDecision | Promise<AcquiredDecision> {
    const limiter = this.#limiter
    const { store } = limiter
    const charges = limiter.charges(key, options, newHoldId())
    const decided = charges.length === 1 ? limiter.acquireSync(charges[0] as Charge) : undefined
    if (decided !== undefined) return this.#withHold(decided, key, charges)
    const at = limiter.at()
    if (isSyncStore(store))
      return this.#withHold(limiter.decisionOf(options, store.checkSync(charges, at)), key, charges)
    return store
      .check(charges, at, limiter.onStoreFailure)
      .then((outcome) => this.#withHold(limiter.decisionOf(options, outcome), key, charges))
  }

  #withHold(decision: AcquiredDecision, key: string, charges: Charge[]): AcquiredDecision {
    if (decision.allowed) decision.hold = new StoreHold(this.#limiter, this.#lines, key, charges)
    return decision
  }

  async #wait(key: string, options: AcquireOptions, maxWaitMs: number): Promise<AcquiredDecision> {
    const queue = await this.#limiter.openWaitQueue()
    const line = this.#lines.get(key) ?? newLine()
    this.#lines.set(key, line)
    line.waiting++
    let last: AcquiredDecision | undefined
    const question = {
      askEveryMs: ASK_EVERY_MS,
      change: () => line.released,
      check: async () => {
        last = await this.#ask(key, options)
        return last
      },
      peek: () => this.#limiter.peek(key),
      refund: async () => await last?.hold?.release(),
    }
    try {
      return await queue.pass(key, question, options.signal, maxWaitMs)
    } finally {
      if (--line.waiting === 0) this.#lines.delete(key)
    }
  }
}

function newLine(): Line {
  const line: Line = { waiting: 0, released: Promise.resolve(), wake: () => {} }
  const arm = () => {
    line.released = new Promise((resolve) => {
      line.wake = () => {
        arm()
        resolve()
      }
    })
  }
  arm()
  return line
}

function isHeld({ hold, cost }: Charge): boolean {
  return hold !== undefined && cost > 0
}

class StoreHold implements Hold {
  readonly #limiter: HoldingLimiter
  readonly #lines: ReadonlyMap<string, Line>
  readonly #key: string
  readonly #held: readonly Charge[]
  #isOver = false

  constructor(
    limiter: HoldingLimiter,
    lines: ReadonlyMap<string, Line>,
    key: string,
    charges: readonly Charge[],
  ) {
    this.#limiter = limiter
    this.#lines = lines
    this.#key = key
    this.#held = charges.every(isHeld) ? charges : charges.filter(isHeld)
  }

  get holdMs(): number {
    return Math.min(...this.#held.map(({ policy }) => policy.windowMs))
  }

  async release(): Promise<void> {
    if (this.#isOver || this.#held.length === 0) return
    this.#isOver = true
    const { store, onStoreFailure } = this.#limiter
    const at = this.#limiter.at()
    if (isSyncStore(store)) store.releaseSync(this.#held, at)
    else await store.release?.(this.#held, at, onStoreFailure)
    this.#lines.get(this.#key)?.wake()
  }

  async extend(): Promise<boolean> {
    if (this.#isOver) return false
    const { store, onStoreFailure } = this.#limiter
    if (this.#held.length === 0) return true
    const isExtended = await store.extend?.(this.#held, this.#limiter.at(), onStoreFailure)
    return isExtended === true && !this.#isOver
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.release()
  }
}
