import type { Charge, Degraded, Outcome, Store } from "../store.js"
import type { ChargeList } from "./charge-lists.js"
import { leaseSizes } from "./demand.js"
import type { HandBack } from "./hand-back.js"
import type { HeldLeases } from "./held-leases.js"

/** A check that waits for a lease. */
export interface Waiter {
  readonly charges: readonly Charge[]
  readonly onStoreFailure: Degraded | undefined
  readonly resolve: (outcome: Outcome | Promise<Outcome>) => void
}

/** A call for a lease. */
interface Pending {
  readonly waiters: Waiter[]
  /** The key was reset or blocked meanwhile: the instance does not keep what the call brings. */
  isVoid: boolean
}

interface LeaseCallsOptions {
  readonly store: Store
  readonly leases: HeldLeases
  readonly handBack: HandBack
  /** In microseconds, by a clock that never steps. */
  readonly now: () => number
  /** Asks the store about one check, which no lease pays. */
  readonly checkAlone: (list: ChargeList, head: number, waiter: Waiter) => Promise<Outcome>
}

/** Local counters must not decide a call for a lease that fails: they would charge units that nobody spends. */
const FAIL: Degraded = "deny"

/** Calls the store for leases, at most one call per key at a time. Checks that arrive meanwhile wait for its answer. */
export class LeaseCalls {
  /** How many calls were made. */
  made = 0
  readonly #options: LeaseCallsOptions
  /** By the first row of the key. */
  readonly #pending = new Map<number, Pending>()
  /** After a call for a lease has failed: nobody asks for one before this time. */
  #noLeaseBefore = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(options: LeaseCallsOptions) {
    this.#options = options
  }

  isPending(head: number): boolean {
    return this.#pending.has(head)
  }

  /** What the call under way for a key brings is not kept. */
  voidPending(head: number): void {
    const pending = this.#pending.get(head)
    if (pending !== undefined) pending.isVoid = true
  }

  /** Calls for no further lease. What calls under way bring is handed back. */
  close(): void {
    this.#isClosed = true
  }

  /** Whether a check should wait for a lease: a call for its key is under way, or would be worth it. */
  isWorthWaiting(list: ChargeList, head: number, charges: readonly Charge[], now: number): boolean {
    return this.#pending.has(head) || this.#sizes(list, head, [charges], now) !== undefined
  }

  /** Lets a check wait for the lease that is under way, or for a new one. */
  wait(list: ChargeList, head: number, waiter: Waiter, now: number): void {
    const pending = this.#pending.get(head)
    if (pending === undefined) this.#take(list, head, [waiter], now)
    else pending.waiters.push(waiter)
  }

  /** Takes the next lease of a key in the background, if it is time for it. */
  renewIfDue(list: ChargeList, head: number, now: number): void {
    if (this.#options.leases.isDue(list, head, now) && !this.#pending.has(head))
      this.#take(list, head, [], now)
  }

  #sizes(
    list: ChargeList,
    head: number,
    asked: readonly (readonly Charge[])[],
    now: number,
  ): number[] | undefined {
    if (now < this.#noLeaseBefore || this.#isClosed) return undefined
    const { leases, store } = this.#options
    return leaseSizes(leases.table, list, head, asked, now, store.instances ?? 1)
  }

  /** Takes a lease with one call, in the background if nobody waits for it. */
  #take(list: ChargeList, head: number, waiters: Waiter[], now: number): void {
    const asked = waiters.map(({ charges }) => charges)
    const sizes = this.#sizes(list, head, asked, now)
    if (sizes === undefined) {
      this.#answerAlone(list, head, waiters)
      return
    }
    const pending: Pending = { waiters, isVoid: false }
    this.#pending.set(head, pending)
    const { leases, store } = this.#options
    const wanted = leases
      .chargesOf(list, head)
      .map((charge, i) => ({ ...charge, cost: sizes[i] as number, onStoreFailure: FAIL }))
    this.made++
    store.check(wanted, undefined, FAIL).then(
      (outcome) => this.#granted(list, head, pending, wanted, outcome, now),
      () => this.#granted(list, head, pending, wanted, undefined, now),
    )
  }

  /** The answer to the call for a lease; undefined if it failed. */
  #granted(
    list: ChargeList,
    head: number,
    pending: Pending,
    wanted: readonly Charge[],
    outcome: Outcome | undefined,
    sentAt: number,
  ): void {
    const { leases, handBack } = this.#options
    this.#pending.delete(head)
    const { waiters } = pending
    const now = this.#options.now()
    if (outcome === undefined || outcome.degraded !== undefined) {
      this.#noLeaseBefore = now + list.length
      this.#answerAlone(list, head, waiters)
      return
    }
    handBack.heard(outcome)
    if (pending.isVoid || this.#isClosed) {
      if (outcome.allowed) leases.keep(list, head, wanted, outcome, sentAt)
      const left = leases.takeEnded(list, head, Number.POSITIVE_INFINITY)
      // A reset has forgotten the charge. A block has not.
      if (this.#isClosed) void handBack.give(left)
      this.#answerAlone(list, head, waiters)
      return
    }
    leases.remember(head, outcome, sentAt)
    if (!outcome.allowed) {
      this.#answerAlone(list, head, waiters)
      return
    }
    void handBack.give(leases.keep(list, head, wanted, outcome, sentAt))
    for (let i = 0; i < waiters.length; i++) {
      const { charges, resolve } = waiters[i] as Waiter
      const paid = leases.spend(list, head, charges, now)
      if (paid === undefined) {
        const rest = waiters.slice(i)
        // The lease was too small for everybody who waits, or it had ended before it arrived.
        if (i > 0) this.#take(list, head, rest, now)
        else this.#answerAlone(list, head, rest)
        return
      }
      resolve(paid)
    }
  }

  #answerAlone(list: ChargeList, head: number, waiters: readonly Waiter[]): void {
    for (const waiter of waiters) waiter.resolve(this.#options.checkAlone(list, head, waiter))
  }
}
