import { type Clock, sleep } from "../clock.js"
import type { Decision } from "../decision.js"
import { SluiceError } from "../errors.js"
import { checkFields, checkType } from "../options.js"
import { SlotQueue } from "./slot-queue.js"

export interface WaitOptions {
  cost?: number
  limit?: number
  burst?: number
  /** Ends the wait. The promise rejects with its reason. */
  signal?: AbortSignal
  /** The longest wait in milliseconds. Default: no bound. */
  maxWaitMs?: number
}

/** What the queue needs of a limiter. */
interface WaitableLimiter {
  check(key: string, options: Omit<WaitOptions, "signal" | "maxWaitMs">): Promise<Decision>
  peek(key: string): Promise<Decision>
  refund(key: string, cost?: number): Promise<unknown>
}

const WAIT_FIELDS = ["cost", "limit", "burst", "signal", "maxWaitMs"]

/** The calls for one waiting request. */
export interface Question<D extends Decision = Decision> {
  check(): Promise<D>
  peek(): Promise<Decision>
  /** Gives back the units of an allowed check. */
  refund(): Promise<unknown>
  /**
   * Set if the request may be allowed earlier than its decision says, because a hold may be released: a promise that settles when
   * it is worth another check, and how often to check without it.
   */
  change?(): Promise<unknown>
  readonly askEveryMs?: number
}

/** Lets requests wait until they are allowed, first come, first served per key. Only the first request of a key asks the store. */
export class WaitQueue {
  readonly #clock: Required<Clock>
  /** Per key, a promise that settles when all of its requests have left the queue. */
  readonly #lines = new Map<string, Promise<unknown>>()
  readonly #waiting = new Set<AbortController>()
  readonly #held: SlotQueue

  constructor(clock: Required<Clock>) {
    this.#clock = clock
    this.#held = new SlotQueue(clock)
  }

  /** Checks the options and waits until the limiter allows the request. */
  async wait(limiter: WaitableLimiter, key: string, options: WaitOptions): Promise<Decision> {
    checkFields(options, WAIT_FIELDS, "wait")
    const { signal, maxWaitMs, ...rest } = options
    checkType(signal, "wait.signal", "an AbortSignal", (value) => value instanceof AbortSignal)
    checkType(maxWaitMs, "wait.maxWaitMs", "milliseconds ≥ 0", (ms) => typeof ms === "number" && ms >= 0)
    const question = {
      check: () => limiter.check(key, rest),
      peek: () => limiter.peek(key),
      refund: () => limiter.refund(key, rest.cost),
    }
    return await this.pass(key, question, signal, maxWaitMs)
  }

  async pass<D extends Decision>(
    key: string,
    question: Question<D>,
    signal?: AbortSignal,
    maxWaitMs = Number.POSITIVE_INFINITY,
  ): Promise<D> {
    signal?.throwIfAborted()
    // Aborted by the caller's signal and by `close`.
    const stop = new AbortController()
    const onAbort = () => stop.abort(signal?.reason)
    signal?.addEventListener("abort", onAbort)
    this.#waiting.add(stop)
    const deadline = this.#clock.now() + maxWaitMs
    const ahead = this.#lines.get(key)
    const turn = this.#turn(ahead, question, stop.signal, deadline)
    const line = Promise.allSettled([ahead, turn]).then(() => {
      if (this.#lines.get(key) === line) this.#lines.delete(key)
    })
    this.#lines.set(key, line)
    try {
      return await this.#hold(key, await turn, question, stop.signal, deadline)
    } finally {
      signal?.removeEventListener("abort", onAbort)
      this.#waiting.delete(stop)
    }
  }

  /** Rejects all waits. */
  close(reason: unknown = closed()): void {
    for (const stop of this.#waiting) stop.abort(reason)
  }

  /** Waits for the requests ahead, then checks until the request is allowed or its time is up. */
  async #turn<D extends Decision>(
    ahead: Promise<unknown> | undefined,
    question: Question<D>,
    stop: AbortSignal,
    deadline: number,
  ): Promise<D> {
    if (ahead !== undefined && !(await sleep(this.#clock, deadline - this.#clock.now(), stop, ahead))) {
      const state = await question.peek()
      return { ...state, allowed: false, retryAfterMs: state.resetAfterMs || 1, deniedBy: "wait" } as D
    }
    for (;;) {
      stop.throwIfAborted()
      const decision = await question.check()
      if (decision.allowed && stop.aborted) await question.refund()
      stop.throwIfAborted()
      const left = deadline - this.#clock.now()
      const { retryAfterMs } = decision
      const mayWait = question.change === undefined ? retryAfterMs <= left : left > 0
      if (decision.allowed || !mayWait || retryAfterMs === Number.POSITIVE_INFINITY) return decision
      const next = Math.min(retryAfterMs, left, question.askEveryMs ?? Number.POSITIVE_INFINITY)
      await sleep(this.#clock, next, stop, question.change?.())
    }
  }

  /** Holds an allowed request for its `delayMs`. A request that is aborted meanwhile is refunded. */
  async #hold<D extends Decision>(
    key: string,
    decision: D,
    question: Question<D>,
    stop: AbortSignal,
    deadline: number,
  ): Promise<D> {
    const { delayMs } = decision
    if (delayMs === 0) return decision
    if (this.#clock.now() + delayMs > deadline) {
      await question.refund()
      return { ...decision, allowed: false, retryAfterMs: delayMs, delayMs: 0, deniedBy: "wait" }
    }
    if (await this.#held.wait(key, delayMs, stop)) return decision
    // The refund fails if the store has been closed.
    await question.refund().catch(() => {})
    throw stop.reason
  }
}

function closed(): SluiceError {
  return new SluiceError("LIMITER_CLOSED", { place: "wait", expected: "ended: the limiter was closed" })
}
