import type { Charge, Settlement } from "../store.js"

/** What a store in memory does with one charge at once. */
export interface SettlingStore {
  charge(charge: Charge): void
  refund(charge: Charge): void
  /** False if the hold had ended. */
  release(charge: Charge): boolean
  /** The largest cost that fits now. */
  room(charge: Charge): number
}

/** Applies all settlements, or none if a hold to claim has ended. Returns whether it did. */
export function settleAll(settlements: readonly Settlement[], store: SettlingStore): boolean {
  const claim = settlements.find(({ correction }) => correction === "claim")
  if (claim !== undefined && !store.release(claim)) return false
  for (const settlement of settlements) {
    switch (settlement.correction) {
      case "refund":
        store.refund(settlement)
        break
      case "charge":
        store.charge(settlement)
        break
      case "fill":
        store.charge({ ...settlement, cost: Math.min(settlement.cost, store.room(settlement)) })
        break
      case "release":
        store.release(settlement)
        break
    }
  }
  return true
}
