// Reservations of a limiter: a request pays an estimate, and its real cost when that is known. A limiter loads this file with its
// first reservation.

import { isBlock } from "../algorithms/block.js"
import { realCostOf } from "../call-options.js"
import type { Decision } from "../decision.js"
import type { Duration } from "../duration.js"
import { parseDuration } from "../duration.js"
import { checkFields, checkOneOf } from "../options.js"
import { newHoldId } from "../stores/hold-id.js"
import { settlementOf, timeOfCharge } from "../stores/settlement.js"
import type { Charge, Outcome, Overdraft, Settlement } from "../stores/store.js"
import { isSyncStore } from "../stores/store.js"
import type { HoldingLimiter } from "./holds.js"

export interface ReserveOptions {
  /** The estimate, in units. Default: 1. A limit of concurrency holds one place, whatever the estimate. */
  cost?: number
  /** How long the reservation can be settled. Afterwards the estimate stays charged. Default: for ever. */
  hold?: Duration
  /**
   * What happens with the units by which the real cost exceeds the estimate: `"charge"` charges them even beyond the limit, so that
   * later requests wait until they no longer count; `"forgive"` charges as many as fit. Default: `"charge"`.
   */
  overdraft?: Overdraft
  /** Overrides the limit for this call. */
  limit?: number
  /** Overrides the burst for this call. */
  burst?: number
}

/** An estimate that was charged. The first call to `settle` or `cancel` counts. */
export interface Reservation {
  /**
   * Corrects the charge to the real cost, and releases what limits of concurrency hold. Less than the estimate gives back the
   * difference, as far as it still counts. Resolves to false if nothing was changed: the reservation was over, or the store failed.
   */
  settle(actual: number): Promise<boolean>
  /** Settles at a cost of 0. */
  cancel(): Promise<boolean>
}

/** The decision of `reserve`, with the reservation if it is allowed. */
export interface ReservedDecision extends Decision {
  reservation?: Reservation
}

const RESERVE_FIELDS = ["cost", "hold", "overdraft", "limit", "burst"]

export class Reservations {
  readonly #limiter: HoldingLimiter

  constructor(limiter: HoldingLimiter) {
    this.#limiter = limiter
  }

  async reserve(key: string, options: ReserveOptions): Promise<ReservedDecision> {
    checkFields(options, RESERVE_FIELDS, "reserve")
    checkOneOf(options.overdraft, ["charge", "forgive"], "reserve.overdraft")
    const holdMs =
      options.hold === undefined ? Number.POSITIVE_INFINITY : parseDuration(options.hold, "reserve.hold")
    const limiter = this.#limiter
    const { store, leasing, onStoreFailure } = limiter
    const charges = limiter
      .charges(key, options, newHoldId())
      .map((charge) => (charge.hold === undefined ? charge : { ...charge, cost: 1 }))
    const at = limiter.at()
    const until = limiter.now() + holdMs
    // No lease pays: how much of an estimate comes back depends on when the store charged it.
    const outcome = isSyncStore(store)
      ? store.checkSync(charges, at)
      : await (leasing?.checkInStore(charges, at, onStoreFailure) ?? store.check(charges, at, onStoreFailure))
    const decision: ReservedDecision = limiter.decisionOf(options, outcome)
    if (decision.allowed)
      decision.reservation = new StoreReservation(limiter, charges, outcome, until, options.overdraft)
    return decision
  }
}

class StoreReservation implements Reservation {
  readonly #limiter: HoldingLimiter
  readonly #charges: readonly Charge[]
  readonly #outcome: Outcome
  /** By the limiter's clock, in milliseconds. */
  readonly #until: number
  readonly #overdraft: Overdraft
  #isOver = false

  constructor(
    limiter: HoldingLimiter,
    charges: readonly Charge[],
    outcome: Outcome,
    until: number,
    overdraft: Overdraft = "charge",
  ) {
    this.#limiter = limiter
    this.#charges = charges
    this.#outcome = outcome
    this.#until = until
    this.#overdraft = overdraft
  }

  async settle(actual: number): Promise<boolean> {
    const cost = realCostOf(actual)
    if (this.#isOver || this.#limiter.now() >= this.#until) return false
    this.#isOver = true
    const { degraded } = this.#outcome
    // With onStoreFailure `allow` nothing was charged.
    if (degraded === "allow") return true
    const settlements: Settlement[] = []
    this.#charges.forEach((charge, i) => {
      if (isBlock(charge.policy)) return
      const chargedAt = timeOfCharge(this.#outcome, i)
      const settlement = settlementOf(charge, chargedAt, degraded === "local", cost, this.#overdraft)
      if (settlement !== undefined) settlements.push(settlement)
    })
    if (settlements.length === 0) return true
    const { store, onStoreFailure } = this.#limiter
    return (await store.settle(settlements, this.#limiter.at(), onStoreFailure)).result === "settled"
  }

  cancel(): Promise<boolean> {
    return this.settle(0)
  }
}
