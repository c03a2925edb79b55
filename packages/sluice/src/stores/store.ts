// What a store is. A check hands it a list of charges: all allowed and all charged, or none. That one primitive carries
// several limits, several rules, batches and every protocol.

import type { Policy, Verdict } from "../algorithms/algorithm.js"

/** The prefix of limiters and engines that were given none. */
export const DEFAULT_PREFIX = "sluice"

/**
 * A name for the counters of one limit, so that the same key under another limit is another counter. Make it once and
 * keep it: a store may leave its own handle on it to find its counters without a look-up.
 */
export class Namespace {
  readonly name: string
  /** The prefix of the limiter: instances with the same one share counters, and count as one fleet. */
  readonly prefix: string
  handle: { readonly owner: object } | undefined = undefined

  constructor(name: string, prefix: string = DEFAULT_PREFIX) {
    this.name = name
    this.prefix = prefix
  }
}

export interface Charge {
  readonly namespace: Namespace
  readonly key: string
  readonly policy: Policy
  /** Whole units, 0 to look only. */
  readonly cost: number
  /** What decides this charge when the store cannot, if not what decides the others. */
  readonly onStoreFailure?: Degraded | undefined
}

export interface Check {
  readonly charges: readonly Charge[]
  /** Whole microseconds since 1970. Without it the store's own clock counts. */
  readonly at?: number | undefined
}

/** Which way a decision was made when the store could not make it properly. */
export type Degraded = "allow" | "deny" | "local"

export interface Outcome {
  allowed: boolean
  /** The time the decision was made at, in microseconds. */
  now: number
  /** One per charge, in order. */
  verdicts: readonly Verdict[]
  degraded: Degraded | undefined
}

/** The outcome of a check without charges: nothing speaks against it. Stores answer it without a call. */
export function outcomeOfNothing(now: number): Outcome {
  return { allowed: true, now, verdicts: [], degraded: undefined }
}

/**
 * Where counters live. A store that may fail takes `onStoreFailure`, what decides when it cannot answer, and says in the
 * outcome when that happened; others ignore it. Alone, without a guard around it, it throws a `StoreFailure`.
 */
export interface Store {
  /** Decides all charges; if every one is allowed, charges them all, else none. */
  check(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome>
  /** Decides all charges with their costs and charges nothing; `remaining` and reset times are those of now. */
  decide(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome>
  checkMany(checks: readonly Check[], onStoreFailure?: Degraded): Promise<Outcome[]>
  /**
   * Which checks of a list may be made at once without one of them seeing less than if they ran one by one: their places, by
   * wave. Undefined when all may, as in a store that decides in the order it is asked.
   */
  wavesOf?(checks: readonly Check[]): readonly (readonly number[])[] | undefined
  /** Charges without asking. */
  charge(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<void>
  /** Gives back at most what is charged. */
  refund(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<void>
  /** Forgets the keys. */
  reset(charges: readonly Charge[], onStoreFailure?: Degraded): Promise<void>
  /** False when it is certain that a namespace of blocks is empty, so that a check need not ask for one. */
  mayBlock(namespace: Namespace): boolean
  /** How many instances share this store, as last known. Without it the store is this process's alone. */
  readonly instances?: number
  /** Lets go of timers, connections and files. Calls after it fail with STORE_CLOSED. */
  close(): Promise<void>
}

/** The verdict on a single charge, with what an outcome says besides. */
export interface SingleVerdict extends Verdict {
  now: number
  degraded: Degraded | undefined
}

/** A store that answers without waiting for anything. */
export interface SyncStore extends Store {
  checkSync(charges: readonly Charge[], at?: number): Outcome
  /** `checkSync` of a single charge without allocating: the verdict is reused by the next call. */
  checkOneSync(namespace: Namespace, key: string, policy: Policy, cost: number, at?: number): SingleVerdict
}

export function isSyncStore(store: Store): store is SyncStore {
  return "checkSync" in store
}
