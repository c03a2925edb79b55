// Wraps a shared store: takes units of hot keys in advance, and spends them without a call.
//
// Why nobody is admitted beyond a limit: units are charged at most `policy.lease` before they are spent, and the policy of a limit
// with leases leaves room for that delay (see `leasedNumbers` in lease-options.ts). The end of a lease is a duration on the monotonic
// clock, counted from before the call was sent. docs/leases.md has the proof, test/leases tries to break it.

import type { Policy } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import type { Timers } from "../fallback/timers.js"
import { backgroundTimers } from "../fallback/timers.js"
import type {
  BlockedKeys,
  Charge,
  Check,
  Degraded,
  Namespace,
  Outcome,
  Settled,
  Settlement,
  SingleVerdict,
  Store,
  Usage,
} from "../store.js"
import { checkInWaves } from "../waves.js"
import type { ChargeList } from "./charge-lists.js"
import { nameOf } from "./charge-lists.js"
import { isCold } from "./demand.js"
import { HandBack } from "./hand-back.js"
import { HeldLeases } from "./held-leases.js"
import { LeaseCalls } from "./lease-calls.js"
import type { LeaseStats } from "./lease-stats.js"
import { COLUMNS, SINCE } from "./lease-table.js"

export interface LeasingStoreOptions {
  /** How many keys are watched or leased at most. Further keys are checked one by one. Default: 16,384. */
  readonly maxKeys?: number
  /** A clock that never steps. Default: that of the system. */
  readonly timers?: Timers
}

const DEFAULT_MAX_KEYS = 16_384
/** How often keys that went cold are looked for, in ms. */
const SWEEP_MS = 20
/** The time since the process started: a lease needs no date, and every check reads the clock. */
const leaseTimers: Timers = { ...backgroundTimers, now: () => performance.now() }

export class LeasingStore implements Store {
  readonly #store: Store
  readonly #timers: Timers
  readonly #leases: HeldLeases
  readonly #handBack: HandBack
  readonly #calls: LeaseCalls
  #cancelSweep: (() => void) | undefined
  #isClosed = false

  constructor(store: Store, options: LeasingStoreOptions = {}) {
    this.#store = store
    this.#timers = options.timers ?? leaseTimers
    this.#handBack = new HandBack(store)
    this.#leases = new HeldLeases(options.maxKeys ?? DEFAULT_MAX_KEYS)
    this.#calls = new LeaseCalls({
      store,
      leases: this.#leases,
      handBack: this.#handBack,
      now: () => this.#now(),
      checkAlone: (list, head, { charges, onStoreFailure }) =>
        this.#checkOne(list, head, charges, onStoreFailure),
    })
  }

  get stats(): LeaseStats {
    const { taken, spent, answered } = this.#leases
    const { returned } = this.#handBack
    const calls = this.#calls.made + this.#handBack.calls
    const { keys, held } = this.#leases.heldAt(this.#now())
    return {
      keys,
      held,
      spent,
      returned,
      wasted: taken - spent - returned - held,
      answered,
      calls,
      callsSaved: answered - calls,
    }
  }

  /**
   * Decides a single charge by what this instance holds. Undefined if the store must decide. The next call overwrites the
   * verdict that this one returns.
   */
  checkOneHeld(namespace: Namespace, key: string, policy: Policy, cost: number): SingleVerdict | undefined {
    if (policy.lease === 0 || cost === 0) return undefined
    const list = this.#leases.lists.ofOne(namespace, policy)
    const head = list.rows.get(key)
    if (head === undefined) return undefined
    const now = this.#now()
    const verdict = this.#leases.checkOne(list, head, cost, now)
    if (verdict?.allowed) this.#calls.renewIfDue(list, head, now)
    return verdict
  }

  /** `check` that returns a promise only if it must wait. */
  checkEither(
    charges: readonly Charge[],
    at?: number,
    onStoreFailure?: Degraded,
  ): Outcome | Promise<Outcome> {
    // A check at a time of its own cannot be paid by a grant: that is charged at the time of the store.
    const list = at === undefined && !this.#isClosed ? this.#leases.lists.of(charges) : undefined
    if (list === undefined) return this.#pass(charges, at, onStoreFailure)
    const name = nameOf(charges)
    const head = list.rows.get(name)
    const now = this.#now()
    if (head === undefined) return this.#first(list, name, charges, onStoreFailure, now)
    const held = this.#leases.check(list, head, charges, now)
    if (held === undefined) return this.#ask(list, head, charges, onStoreFailure, now)
    if (held.allowed) this.#calls.renewIfDue(list, head, now)
    return held
  }

  check(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome> {
    const outcome = this.checkEither(charges, at, onStoreFailure)
    return outcome instanceof Promise ? outcome : Promise.resolve(outcome)
  }

  /** `check` that no lease pays: the store is asked. */
  checkInStore(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome> {
    return this.#pass(charges, at, onStoreFailure)
  }

  /** Asks the store: units that instances hold count as charged. */
  decide(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome> {
    return this.#store.decide(charges, at, onStoreFailure)
  }

  checkMany(checks: readonly Check[], onStoreFailure?: Degraded): Promise<Outcome[]> {
    return checkInWaves(checks, this.wavesOf(checks), (check) =>
      this.check(check.charges, check.at, onStoreFailure),
    )
  }

  wavesOf(checks: readonly Check[]): readonly (readonly number[])[] | undefined {
    return this.#store.wavesOf?.(checks)
  }

  /** A block ends the leases of its key on this instance. On others they end by themselves. */
  async charge(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<void> {
    for (const { policy, key, cost } of charges)
      if (isBlock(policy) && cost > 0) void this.#handBack.give(this.#drop(key))
    await this.#store.charge(charges, at, onStoreFailure)
  }

  async refund(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<void> {
    await this.#store.refund(charges, at, onStoreFailure)
    this.#forgetDenials(charges)
  }

  async settle(settlements: readonly Settlement[], at?: number, onStoreFailure?: Degraded): Promise<Settled> {
    const settled = await this.#store.settle(settlements, at, onStoreFailure)
    this.#forgetDenials(settlements)
    return settled
  }

  #forgetDenials(charges: readonly Charge[]): void {
    for (const { key } of charges)
      for (const head of this.#leases.table.headsOf(key)) this.#leases.forgetDenial(head)
  }

  /** Holds are never leased. */
  async release(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<boolean> {
    return (await this.#store.release?.(charges, at, onStoreFailure)) ?? false
  }

  async extend(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<boolean> {
    return (await this.#store.extend?.(charges, at, onStoreFailure)) ?? false
  }

  /** Ends the leases of the keys on this instance. On others they end by themselves. */
  async reset(charges: readonly Charge[], onStoreFailure?: Degraded): Promise<void> {
    for (const { key } of charges) this.#drop(key)
    await this.#store.reset(charges, onStoreFailure)
  }

  async usage(charges: readonly Charge[], at?: number): Promise<readonly Usage[] | undefined> {
    return await this.#store.usage?.(charges, at)
  }

  async blocked(prefix: string, max: number, at?: number): Promise<BlockedKeys | undefined> {
    return await this.#store.blocked?.(prefix, max, at)
  }

  mayBlock(namespace: Namespace): boolean {
    return this.#store.mayBlock(namespace)
  }

  get instances(): number {
    return this.#store.instances ?? 1
  }

  /** Hands back all leases. The wrapped store stays open: it belongs to whoever opened it. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#calls.close()
    this.#cancelSweep?.()
    this.#cancelSweep = undefined
    await this.#handBack.give(this.#leases.takeAll())
  }

  #now(): number {
    return this.#timers.now() * 1000
  }

  #pass(
    charges: readonly Charge[],
    at: number | undefined,
    onStoreFailure: Degraded | undefined,
  ): Promise<Outcome> {
    const decided = this.#store.check(charges, at, onStoreFailure)
    if (charges.every(({ policy }) => policy.lease === 0)) return decided
    return decided.then((outcome) => ({ ...outcome, source: sourceOf(outcome) }))
  }

  /** The first check of a key: it is watched from now on, if there is room. */
  #first(
    list: ChargeList,
    name: string,
    charges: readonly Charge[],
    onStoreFailure: Degraded | undefined,
    now: number,
  ): Promise<Outcome> {
    const { table } = this.#leases
    const head = table.add(list, name, charges)
    if (head < 0) return this.#pass(charges, undefined, onStoreFailure)
    for (let row = head; row >= 0; row = table.next(row)) table.cells[row * COLUMNS + SINCE] = now
    this.#cancelSweep ??= this.#timers.schedule(SWEEP_MS, this.#sweep)
    this.#leases.count(list, head, charges, now)
    return this.#checkOne(list, head, charges, onStoreFailure)
  }

  /** A check that no lease pays: waits for one, asks for one, or asks the store about itself only. */
  #ask(
    list: ChargeList,
    head: number,
    charges: readonly Charge[],
    onStoreFailure: Degraded | undefined,
    now: number,
  ): Promise<Outcome> {
    this.#leases.count(list, head, charges, now)
    this.#giveUnspent(list, head, now)
    if (!this.#calls.isWorthWaiting(list, head, charges, now))
      return this.#checkOne(list, head, charges, onStoreFailure)
    return new Promise((resolve) => {
      this.#calls.wait(list, head, { charges, onStoreFailure, resolve }, now)
    })
  }

  #giveUnspent(list: ChargeList, head: number, now: number): void {
    if (this.#leases.hasEnded(head, now)) void this.#handBack.give(this.#leases.takeUnspent(list, head, now))
  }

  /** Asks the store about one check, and remembers what it says. */
  async #checkOne(
    list: ChargeList,
    head: number,
    charges: readonly Charge[],
    onStoreFailure: Degraded | undefined,
  ): Promise<Outcome> {
    const sentAt = this.#now()
    const outcome = await this.#store.check(charges, undefined, onStoreFailure)
    this.#handBack.heard(outcome)
    // The rows of an idle key may have been dropped while the store was asked.
    if (outcome.degraded === undefined && list.rows.get(nameOf(charges)) === head) {
      this.#leases.remember(head, outcome, sentAt)
      if (!outcome.allowed) this.#leases.rememberDenial(list, head, charges, outcome, sentAt)
    }
    return { ...outcome, source: sourceOf(outcome) }
  }

  /** Drops the leases and denials of a key. Returns the units that were left. */
  #drop(key: string): Charge[] {
    const { table } = this.#leases
    return table.headsOf(key).flatMap((head) => {
      this.#calls.voidPending(head)
      this.#leases.forgetDenial(head)
      return this.#leases.takeEnded(table.lists[head] as ChargeList, head, Number.POSITIVE_INFINITY)
    })
  }

  /** Hands back what is left of leases that have ended, and drops keys that went cold. */
  readonly #sweep = (): void => {
    const now = this.#now()
    const { table } = this.#leases
    table.lists.forEach((list, head) => {
      if (list === undefined || this.#calls.isPending(head)) return
      this.#giveUnspent(list, head, now)
      if (isCold(table.cells, head, now, list.length)) table.remove(head)
    })
    this.#cancelSweep = table.size === 0 ? undefined : this.#timers.schedule(SWEEP_MS, this.#sweep)
  }
}

function sourceOf({ degraded }: Outcome): "store" | "local" {
  return degraded === undefined ? "store" : "local"
}
