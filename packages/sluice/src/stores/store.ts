// The contract of a store. A check gives the store a list of charges: the store allows and charges all of them, or none.
// Several limits, several rules, batches and every protocol are built on that.

import type { Policy, Verdict } from "../algorithms/algorithm.js"
import type { BlockStart } from "../algorithms/block.js"
import type { DecisionSource, Degraded } from "../decision.js"
import type { HoldId } from "./hold-id.js"

export type { DecisionSource, Degraded }

/** The prefix of a limiter or rule engine that sets none. */
export const DEFAULT_PREFIX = "sluice"

/**
 * Separates the counters of one limit from those of others, so that the same key under two limits has two counters. Create it
 * once and keep it: a store may set `handle` to find its counters without a lookup.
 */
export class Namespace {
  readonly name: string
  /** The prefix of the limiter. Instances with the same prefix share counters and count as one fleet. */
  readonly prefix: string
  /** Set and read by the store that owns it. */
  handle: { readonly owner: object } | undefined = undefined

  constructor(name: string, prefix: string = DEFAULT_PREFIX) {
    this.name = name
    this.prefix = prefix
  }
}

/** Units to charge to one key of one limit. */
export interface Charge {
  readonly namespace: Namespace
  readonly key: string
  readonly policy: Policy
  /** A whole number. With 0 the limit is checked and not charged. */
  readonly cost: number
  /**
   * For a refund: when the units were charged, in microseconds by the store's clock (the `now` of the outcome). The store then
   * gives back at most what still counts of them: of a bucket what has not drained since, of a log the entry of that time, of a
   * counter or fixed window the units of that bucket or window. Without it, a refund takes the newest units.
   */
  readonly chargedAt?: number | undefined
  /** The limit whose denials a block with a penalty counts. It must be charged in the same check, to the same key. */
  readonly penalizes?: Namespace | undefined
  /** Overrides the `onStoreFailure` of the call for this charge. */
  readonly onStoreFailure?: Degraded | undefined
  /**
   * concurrency: the id of the hold. `check` and `charge` hold the units under it, `refund` ends it. Without an id nobody can
   * release what a check holds, so it ends by itself.
   */
  readonly hold?: HoldId | undefined
}

/** Whether the part of a real cost that exceeds its estimate is charged beyond the limit, or only as far as the limit has room. */
export type Overdraft = "charge" | "forgive"

/** A charge to correct, now that the real cost of its request is known. */
export interface Settlement extends Charge {
  /**
   * What happens with the `cost` units: `refund` gives them back (see `chargedAt`), `charge` charges them, also beyond the limit,
   * and `fill` charges as many of them as fit. Of a limit of concurrency, `release` ends the hold; `claim` does too, and if that
   * hold has ended already, the whole call changes nothing.
   */
  readonly correction: "refund" | "charge" | "fill" | "release" | "claim"
  /** Whether local counters made the charge, while the store failed: then they are corrected, and not the store. */
  readonly isLocal?: boolean | undefined
}

/** The answer to `settle`. */
export interface Settled {
  /** `unknown`: a hold to claim had ended. `failed`: the store did not answer, and may have settled or not. */
  readonly result: "settled" | "unknown" | "failed"
  /** When the store settled, in microseconds. */
  readonly now: number
}

/** The block of a key that denials of a limit begin. `policy` is that of the limit's penalty. */
export function penaltyCharge(limit: Charge, namespace: Namespace, policy: Policy): Charge {
  return {
    namespace,
    key: limit.key,
    policy,
    cost: 0,
    penalizes: limit.namespace,
    onStoreFailure: limit.onStoreFailure,
  }
}

/** The index of the limit whose denials a block counts; -1 if the check does not charge it. */
export function penalizedIndex(charges: readonly Charge[], { key, penalizes }: Charge): number {
  return charges.findIndex((limit) => limit.namespace.name === penalizes?.name && limit.key === key)
}

/** Charges on the same key are decided by their sum: each alone might fit where both together do not. */
export function costOnSameKey(charges: readonly Charge[], { key, namespace }: Charge): number {
  let cost = 0
  for (const other of charges)
    if (other.key === key && other.namespace.name === namespace.name) cost += other.cost
  return cost
}

/** The namespace of the blocks that denials of a limit begin. */
export function penaltyNamespace({ name, prefix }: Namespace): Namespace {
  return new Namespace(`${name}:penalty`, prefix)
}

/** Charges that are decided together: all or none. */
export interface Check {
  readonly charges: readonly Charge[]
  /** The time of the check, in whole microseconds since 1970. Default: the store's clock. */
  readonly at?: number | undefined
}

/** The answer to one check. */
export interface Outcome {
  allowed: boolean
  /** When the store decided, in microseconds. */
  now: number
  /** One per charge, in order. */
  verdicts: readonly Verdict[]
  degraded: Degraded | undefined
  /** Set for limits with leases. */
  source?: DecisionSource | undefined
  /** The blocks that penalties began with this check. `limit` is the index of the charge whose denials began it. */
  begun?: readonly BegunBlock[] | undefined
  /** When each charge was decided, if several servers with clocks of their own decided together. */
  times?: readonly number[] | undefined
  /** Set if a lease paid: when its units were charged. */
  chargedAt?: number | undefined
}

export interface BegunBlock extends BlockStart {
  readonly limit: number
}

/** A key that is blocked. Times are in microseconds since 1970. */
export interface BlockedKey {
  /** The name of the namespace of the block. */
  readonly namespace: string
  readonly key: string
  readonly since: number
  readonly until: number
  /** Blocks by a penalty that count, this one included. 0 for a block that a user has set. */
  readonly blocks: number
}

/** How many blocked keys a store lists for each prefix; in memory, in all. When there are more, those that end first are left out. */
export const MAX_LISTED = 10_000
/** A longer key is not listed, because clients choose keys. */
export const MAX_LISTED_KEY = 1_024

export interface BlockedKeys {
  /** Those that last longest come first. */
  readonly keys: readonly BlockedKey[]
  /** False if there may be more: the list is cut, or a server did not answer. */
  readonly isComplete: boolean
}

/** What a key is charged under one limit. Times and lengths are in microseconds. */
export interface Usage {
  /** Units that count now, rounded up. After a charge without a decision they may exceed the limit. */
  readonly used: number
  /** Sliding window log: when the oldest and the newest unit that count were charged. */
  readonly oldest?: number
  readonly newest?: number
  /** Fixed window and sliding window counter: the buckets with units, newest first. The oldest may count in part only. */
  readonly buckets?: readonly { readonly start: number; readonly length: number; readonly units: number }[]
  /** Block: the block in force, and what a penalty has counted. */
  readonly block?: {
    readonly since?: number
    readonly until?: number
    readonly denials: number
    readonly blocks: number
  }
}

/** The outcome of a check without charges: allowed. Stores answer it without a call. */
export function outcomeOfNothing(now: number): Outcome {
  return { allowed: true, now, verdicts: [], degraded: undefined }
}

/**
 * Keeps the counters. `onStoreFailure` says how a store that can fail decides when it cannot reach its server; the outcome then
 * says `degraded`. A store that cannot fail ignores it. A store without the guard that implements this throws `StoreFailure`.
 */
export interface Store {
  /** Decides all charges. If every charge is allowed, charges them all, else none. */
  check(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome>
  /** Decides all charges and charges nothing. `remaining` and the reset times are those of the current state. */
  decide(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome>
  /** Decides several checks in order. Each is all-or-nothing by itself. */
  checkMany(checks: readonly Check[], onStoreFailure?: Degraded): Promise<Outcome[]>
  /**
   * Groups the indexes of a list of checks into waves that must run one after another, so that every check sees the charges of
   * those before it. Undefined if all checks may be sent at once, as for a store that decides in the order of its calls.
   */
  wavesOf?(checks: readonly Check[]): readonly (readonly number[])[] | undefined
  /** Charges without deciding, also beyond the limit. */
  charge(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<void>
  /** Gives back units, at most those that are charged. */
  refund(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<void>
  /** Corrects charges whose real cost is known by now, in one step. */
  settle(settlements: readonly Settlement[], at?: number, onStoreFailure?: Degraded): Promise<Settled>
  /**
   * Ends the hold of each charge. True if none of them had ended before. Charges have the key, policy and cost of the check.
   * A store without `release` and `extend` takes no limits of concurrency.
   */
  release?(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<boolean>
  /** Lets all holds begin again, as if acquired now, or none if one of them has ended. True if they have been extended. */
  extend?(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<boolean>
  /** Forgets the keys. */
  reset(charges: readonly Charge[], onStoreFailure?: Degraded): Promise<void>
  /** False if no key of this namespace of blocks is blocked, so that a check need not include the block of its key. */
  mayBlock(namespace: Namespace): boolean
  /** What the key of each charge is charged now, for people to read. Undefined if the store cannot tell. Charges nothing. */
  usage?(charges: readonly Charge[], at?: number): Promise<readonly Usage[] | undefined>
  /**
   * The keys of limiters with this prefix that are blocked now, at most `max` of them. Undefined if the store cannot tell. The list
   * is for people: a key that it lacks is blocked all the same.
   */
  blocked?(prefix: string, max: number, at?: number): Promise<BlockedKeys | undefined>
  /** How many instances share the store, as last known. Undefined if only this process uses it. */
  readonly instances?: number
  /** Releases timers, connections and files. Later calls fail with STORE_CLOSED. */
  close(): Promise<void>
}

/** The verdict on a single charge, with the fields of its outcome. */
export interface SingleVerdict extends Verdict {
  now: number
  degraded: Degraded | undefined
  source?: DecisionSource | undefined
}

/** A store that answers synchronously. */
export interface SyncStore extends Store {
  checkSync(charges: readonly Charge[], at?: number): Outcome
  /** `checkSync` of a single charge without allocation: the next call overwrites the verdict that this one returns. */
  checkOneSync(namespace: Namespace, key: string, policy: Policy, cost: number, at?: number): SingleVerdict
  /** `checkOneSync` of a charge with a hold. */
  acquireOneSync(charge: Charge, at?: number): SingleVerdict
  releaseSync(charges: readonly Charge[], at?: number): boolean
}

export function isSyncStore(store: Store): store is SyncStore {
  return "checkSync" in store
}
