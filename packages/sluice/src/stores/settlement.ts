// From an estimate that was charged to the real cost.

import { isConcurrency } from "../algorithms/concurrency.js"
import type { Charge, Outcome, Overdraft, Settlement } from "./store.js"

/** When a store made a charge of a check, in microseconds by its clock. `index` is that of the charge. */
export function timeOfCharge({ chargedAt, times, now }: Outcome, index: number): number {
  return chargedAt ?? times?.[index] ?? now
}

/**
 * What corrects a charge that was made at `chargedAt`, if its request has cost `actual` units. A hold is released. Undefined if
 * nothing is to be corrected.
 */
export function settlementOf(
  charge: Charge,
  chargedAt: number,
  actual: number,
  overdraft: Overdraft,
): Settlement | undefined {
  if (isConcurrency(charge.policy))
    return charge.hold === undefined || charge.cost === 0 ? undefined : { ...charge, correction: "release" }
  const missing = actual - charge.cost
  if (missing === 0) return undefined
  if (missing < 0) return { ...charge, cost: -missing, chargedAt, correction: "refund" }
  return { ...charge, cost: missing, correction: overdraft === "charge" ? "charge" : "fill" }
}
