import type { Charge, Degraded, Outcome, Store } from "../store.js"

/** Charges in one call. */
const MAX_CHARGES = 100
/** Local counters must not take a refund that fails, because they were not charged. */
const NOT_LOCAL: Degraded = "deny"

/** Refunds units that an instance was granted and has not spent. */
export class HandBack {
  /** Units that the store should have taken back, and the calls for it. */
  returned = 0
  calls = 0
  readonly #store: Store
  /** The latest time that the store has told. */
  #storeTime = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** The store has answered. */
  heard({ now }: Outcome): void {
    if (now > this.#storeTime) this.#storeTime = now
  }

  /**
   * Refunds units, with the times at which they were charged. A refund that fails is never repeated: nobody knows whether the
   * store has taken it. Units that have drained from their bucket by now are not sent.
   */
  async give(units: readonly Charge[]): Promise<void> {
    const charges = units.filter((charge) => this.#left(charge) > 0)
    const calls: Promise<void>[] = []
    for (let i = 0; i < charges.length; i += MAX_CHARGES)
      calls.push(this.#send(charges.slice(i, i + MAX_CHARGES)))
    await Promise.all(calls)
  }

  async #send(charges: readonly Charge[]): Promise<void> {
    const units = charges.reduce((sum, charge) => sum + this.#left(charge), 0)
    this.calls++
    this.returned += units
    try {
      await this.#store.refund(charges, undefined, NOT_LOCAL)
    } catch {
      this.returned -= units
    }
  }

  /** What the store takes back of a charge if its time is that of its last answer. */
  #left({ policy, cost, chargedAt = 0 }: Charge): number {
    if (policy.token === 0) return cost
    const drained = ((this.#storeTime - chargedAt) * policy.leak) / policy.token
    return Math.max(cost - Math.ceil(drained), 0)
  }
}
