// What this instance holds: units of grants, and denials of the store that still hold. Spends and remembers, and never waits.

import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { newVerdict } from "../../algorithms/algorithm.js"
import type { Charge, Namespace, Outcome, SingleVerdict } from "../store.js"
import type { ChargeList } from "./charge-lists.js"
import { ChargeLists } from "./charge-lists.js"
import { countCheck } from "./demand.js"
import {
  CHARGED_AT,
  COLUMNS,
  DEMAND,
  DENIED_COST,
  DENIED_UNTIL,
  ENDS_AT,
  LEFT,
  LeaseTable,
  NO_LEASE_BEFORE,
  OLD_CHARGED_AT,
  OLD_ENDS_AT,
  OLD_LEFT,
  REMAINING,
  RESETS_AT,
  RETRY_AT,
} from "./lease-table.js"

/** The columns of a grant. */
interface Grant {
  readonly left: number
  readonly ends: number
  readonly chargedAt: number
}

const OLD_GRANT: Grant = { left: OLD_LEFT, ends: OLD_ENDS_AT, chargedAt: OLD_CHARGED_AT }
const NEW_GRANT: Grant = { left: LEFT, ends: ENDS_AT, chargedAt: CHARGED_AT }
/** The older grant is spent first, because it ends first. */
const GRANTS = [OLD_GRANT, NEW_GRANT]

/** The clock of the store may be faster than ours by 1 in this many. */
const CLOCK_DRIFT = 1_000
/** A lease is renewed when less than one in this many parts of its time is left, or of the demand. */
const RENEW_TIME_PART = 4
const RENEW_UNITS_PART = 8
/** A lease that ends with more than one in this many parts of the demand unspent is followed by a pause. */
const UNSPENT_PART = 3
/** The longest pause, in lengths of a lease. Each is twice as long as the one before, until a lease is spent. */
const MAX_PAUSE = 20

export class HeldLeases {
  readonly table: LeaseTable
  readonly lists = new ChargeLists()
  /** Units that the store granted, that were spent, and checks that were answered without the store. */
  taken = 0
  spent = 0
  answered = 0
  /** How far the clock of the store is ahead of ours, as its last answer showed it. Of several servers, the last that answered. */
  #storeAhead = 0
  readonly #verdict: SingleVerdict = { ...newVerdict(), now: 0, degraded: undefined, source: "lease" }

  constructor(maxRows: number) {
    this.table = new LeaseTable(maxRows)
  }

  /**
   * Decides a single charge. Undefined if the store must decide. The next call overwrites the verdict. `list` and `head` are of
   * the charge.
   */
  checkOne(list: ChargeList, head: number, cost: number, now: number): SingleVerdict | undefined {
    const { cells } = this.table
    const at = head * COLUMNS
    const verdict = this.#verdict
    if (now < (cells[at + DENIED_UNTIL] as number) && cells[at + DENIED_COST] === cost) {
      this.answered++
      this.#deny(head, now, list.policies[0] as Policy, verdict)
    } else {
      let left: number
      if ((cells[at + OLD_LEFT] as number) >= cost && now < (cells[at + OLD_ENDS_AT] as number))
        left = OLD_LEFT
      else if ((cells[at + LEFT] as number) >= cost && now < (cells[at + ENDS_AT] as number)) left = LEFT
      else return undefined
      this.answered++
      this.#pay(list, head, left, cost, now)
      this.#allow(head, now, list.policies[0] as Policy, verdict)
    }
    verdict.used = (list.policies[0] as Policy).capacity - verdict.remaining
    verdict.now = this.#storeTime(now)
    return verdict
  }

  /** Decides charges. Undefined if the store must decide. */
  check(list: ChargeList, head: number, charges: readonly Charge[], now: number): Outcome | undefined {
    if (!this.#isDenied(head, charges, now)) return this.spend(list, head, charges, now)
    this.answered++
    return this.#outcome(head, charges, now, false)
  }

  /** Pays charges from one grant. Undefined if no grant has enough of each. */
  spend(list: ChargeList, head: number, charges: readonly Charge[], now: number): Outcome | undefined {
    for (const { left, ends, chargedAt } of GRANTS) {
      if (now >= (this.table.cells[head * COLUMNS + ends] as number) || !this.#covers(head, charges, left))
        continue
      let row = head
      for (const { cost } of charges) {
        this.#pay(list, row, left, cost, now)
        row = this.table.next(row)
      }
      this.answered++
      const outcome = this.#outcome(head, charges, now, true)
      outcome.chargedAt = this.table.cells[head * COLUMNS + chargedAt] as number
      return outcome
    }
    return undefined
  }

  /** Counts a check that no grant has paid. */
  count(list: ChargeList, head: number, charges: readonly Charge[], now: number): void {
    let row = head
    for (const { cost } of charges) {
      countCheck(this.table.cells, row * COLUMNS, cost, now, list.length)
      row = this.table.next(row)
    }
  }

  /** Whether a lease should be renewed: little of its time or of its units is left. */
  isDue(list: ChargeList, head: number, now: number): boolean {
    const { cells } = this.table
    const at = head * COLUMNS
    const isShort = (cells[at + LEFT] as number) * RENEW_UNITS_PART < (cells[at + DEMAND] as number)
    return isShort || ((cells[at + ENDS_AT] as number) - now) * RENEW_TIME_PART < list.length
  }

  /** Remembers what the store has left of each limit. */
  remember(head: number, outcome: Outcome, sentAt: number): void {
    const { cells } = this.table
    this.#storeAhead = outcome.now - sentAt
    let row = head
    for (const verdict of outcome.verdicts) {
      const at = row * COLUMNS
      cells[at + REMAINING] = verdict.remaining
      cells[at + RESETS_AT] = sentAt + verdict.resetAfter
      row = this.table.next(row)
    }
  }

  /** Remembers a denial until its retry time, at most for the length of a lease. */
  rememberDenial(
    list: ChargeList,
    head: number,
    charges: readonly Charge[],
    outcome: Outcome,
    sentAt: number,
  ): void {
    const { cells } = this.table
    let wait = 0
    let row = head
    outcome.verdicts.forEach((verdict, i) => {
      const at = row * COLUMNS
      cells[at + DENIED_COST] = (charges[i] as Charge).cost
      cells[at + RETRY_AT] = verdict.allowed ? 0 : sentAt + verdict.retryAfter
      if (!verdict.allowed) wait = Math.max(wait, verdict.retryAfter)
      row = this.table.next(row)
    })
    cells[head * COLUMNS + DENIED_UNTIL] = sentAt + Math.min(wait, list.length)
  }

  /** Keeps a grant that was asked for at `sentAt`. Returns what is left of the grant that it replaces. */
  keep(
    list: ChargeList,
    head: number,
    granted: readonly Charge[],
    outcome: Outcome,
    sentAt: number,
  ): readonly Charge[] {
    const { cells } = this.table
    const length = lengthOf(list, outcome)
    const replaced = this.#take(list, head, OLD_GRANT)
    if (this.#isSpent(head, sentAt)) this.table.pauses[head] = 0
    let row = head
    granted.forEach(({ cost }, i) => {
      const at = row * COLUMNS
      this.taken += cost
      cells[at + OLD_LEFT] = cells[at + LEFT] as number
      cells[at + OLD_ENDS_AT] = cells[at + ENDS_AT] as number
      cells[at + OLD_CHARGED_AT] = cells[at + CHARGED_AT] as number
      cells[at + LEFT] = cost
      cells[at + ENDS_AT] = sentAt + length - length / CLOCK_DRIFT
      cells[at + CHARGED_AT] = outcome.times?.[i] ?? outcome.now
      row = this.table.next(row)
    })
    cells[head * COLUMNS + DENIED_UNTIL] = 0
    return replaced
  }

  forgetDenial(head: number): void {
    this.table.cells[head * COLUMNS + DENIED_UNTIL] = 0
  }

  /** Whether a grant of a lease has ended with units left. */
  hasEnded(head: number, now: number): boolean {
    const { cells } = this.table
    const at = head * COLUMNS
    return GRANTS.some(({ left, ends }) => {
      return (cells[at + left] as number) > 0 && now >= (cells[at + ends] as number)
    })
  }

  /**
   * Takes what is left of grants that have ended, as `takeEnded`. If much is left, the demand comes in bursts that are further apart
   * than a lease lasts, or the process was busy with other things: no lease is taken for a while, because units of a bucket cannot
   * be handed back once they have drained.
   */
  takeUnspent(list: ChargeList, head: number, now: number): Charge[] {
    const { cells } = this.table
    const left = this.takeEnded(list, head, now)
    const at = head * COLUMNS
    const unspent = left[0]?.cost ?? 0
    if (unspent * UNSPENT_PART > (cells[at + DEMAND] as number)) {
      const { pauses } = this.table
      const pause = Math.min(2 * (pauses[head] as number) || 1, MAX_PAUSE)
      pauses[head] = pause
      cells[at + NO_LEASE_BEFORE] = now + pause * list.length
    }
    return left
  }

  /** Whether half of the newest grant or more was spent before it ended. */
  #isSpent(head: number, now: number): boolean {
    const { cells } = this.table
    const at = head * COLUMNS
    return (
      now < (cells[at + ENDS_AT] as number) &&
      (cells[at + LEFT] as number) * 2 <= (cells[at + DEMAND] as number)
    )
  }

  /** Takes what is left of the grants of a lease that have ended at `now`; of all if `now` is Infinity. Returns it to be refunded. */
  takeEnded(list: ChargeList, head: number, now: number): Charge[] {
    return GRANTS.flatMap((grant) => {
      return now >= (this.table.cells[head * COLUMNS + grant.ends] as number)
        ? this.#take(list, head, grant)
        : []
    })
  }

  /** Takes what is left of all grants. */
  takeAll(): Charge[] {
    return this.table.lists.flatMap((list, head) => {
      return list === undefined ? [] : this.takeEnded(list, head, Number.POSITIVE_INFINITY)
    })
  }

  #take(list: ChargeList, head: number, { left, chargedAt }: Grant): Charge[] {
    const { cells } = this.table
    const taken: Charge[] = []
    let row = head
    for (const charge of this.chargesOf(list, head)) {
      const at = row * COLUMNS
      const cost = cells[at + left] as number
      if (cost > 0) taken.push({ ...charge, cost, chargedAt: cells[at + chargedAt] as number })
      cells[at + left] = 0
      row = this.table.next(row)
    }
    return taken
  }

  /** How many keys have a lease, and the units that are not spent. */
  heldAt(now: number): { keys: number; held: number } {
    let keys = 0
    let held = 0
    this.table.lists.forEach((list, head) => {
      const units = list === undefined ? 0 : this.unitsOf(head, now)
      if (units > 0) keys++
      held += units
    })
    return { keys, held }
  }

  /** Units that a lease holds at `now`. */
  unitsOf(head: number, now: number): number {
    const { cells } = this.table
    let units = 0
    for (const { left, ends } of GRANTS) {
      if (now >= (cells[head * COLUMNS + ends] as number)) continue
      for (let row = head; row >= 0; row = this.table.next(row))
        units += cells[row * COLUMNS + left] as number
    }
    return units
  }

  /** The charges of a lease, at a cost of 1. A block costs nothing. */
  chargesOf(list: ChargeList, head: number): Charge[] {
    let row = head
    return list.policies.map((policy, i) => {
      const key = this.table.keys[row] as string
      row = this.table.next(row)
      return { namespace: list.namespaces[i] as Namespace, key, policy, cost: policy.lease > 0 ? 1 : 0 }
    })
  }

  #pay(list: ChargeList, row: number, left: number, cost: number, now: number): void {
    const { cells } = this.table
    const at = row * COLUMNS
    cells[at + left] = (cells[at + left] as number) - cost
    this.spent += cost
    countCheck(cells, at, cost, now, list.length)
  }

  #covers(head: number, charges: readonly Charge[], left: number): boolean {
    let row = head
    for (const { cost } of charges) {
      if ((this.table.cells[row * COLUMNS + left] as number) < cost) return false
      row = this.table.next(row)
    }
    return true
  }

  #isDenied(head: number, charges: readonly Charge[], now: number): boolean {
    const { cells } = this.table
    if (now >= (cells[head * COLUMNS + DENIED_UNTIL] as number)) return false
    let row = head
    for (const { cost } of charges) {
      if (cells[row * COLUMNS + DENIED_COST] !== cost) return false
      row = this.table.next(row)
    }
    return true
  }

  #outcome(head: number, charges: readonly Charge[], now: number, allowed: boolean): Outcome {
    let row = head
    const verdicts = charges.map(({ policy }) => {
      const verdict = newVerdict()
      if (allowed) this.#allow(row, now, policy, verdict)
      else this.#deny(row, now, policy, verdict)
      verdict.used = policy.capacity - verdict.remaining
      row = this.table.next(row)
      return verdict
    })
    return { allowed, now: this.#storeTime(now), verdicts, degraded: undefined, source: "lease" }
  }

  /** Writes the verdict on a charge that a grant has paid. */
  #allow(row: number, now: number, policy: Policy, verdict: Verdict): void {
    const { cells } = this.table
    const at = row * COLUMNS
    verdict.allowed = true
    verdict.remaining = Math.floor(
      (cells[at + REMAINING] as number) + (cells[at + LEFT] as number) + (cells[at + OLD_LEFT] as number),
    )
    verdict.used = policy.capacity - verdict.remaining
    verdict.retryAfter = 0
    verdict.resetAfter = Math.max(Math.round((cells[at + RESETS_AT] as number) - now), 0)
    verdict.delay = 0
  }

  /** Writes the verdict of a denial that still holds. */
  #deny(row: number, now: number, policy: Policy, verdict: Verdict): void {
    const { cells } = this.table
    const at = row * COLUMNS
    const retryAt = cells[at + RETRY_AT] as number
    verdict.allowed = retryAt === 0
    verdict.remaining = Math.floor(cells[at + REMAINING] as number)
    verdict.used = policy.capacity - verdict.remaining
    verdict.retryAfter = retryAt === 0 ? 0 : Math.max(Math.round(retryAt - now), 1)
    verdict.resetAfter = Math.max(Math.round((cells[at + RESETS_AT] as number) - now), 0)
    verdict.delay = 0
  }

  #storeTime(now: number): number {
    return Math.round(now + this.#storeAhead)
  }
}

/** How long a lease lasts that the store has just granted, in µs: until the first of its windows or buckets ends, at most. */
function lengthOf(list: ChargeList, outcome: Outcome): number {
  let { length } = list
  list.policies.forEach(({ algorithm, bucketSize }: Policy, i) => {
    if (algorithm.name === "fixed-window")
      length = Math.min(length, (outcome.verdicts[i] as Verdict).resetAfter)
    if (algorithm.name === "sliding-window-counter")
      length = Math.min(length, bucketSize - ((outcome.times?.[i] ?? outcome.now) % bucketSize))
  })
  return length
}
