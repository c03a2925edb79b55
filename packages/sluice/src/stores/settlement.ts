// From an estimate that was charged to the real cost.

import { isConcurrency } from "../algorithms/concurrency.js"
import type { Charge, Outcome, Overdraft, Settlement } from "./store.js"

/** When a store made a charge of a check, in microseconds by its clock. `index` is that of the charge. */
export function timeOfCharge({ chargedAt, times, now }: Outcome, index: number): number {
  return chargedAt ?? times?.[index] ?? now
}

/**
 * What corrects a charge that was made at `chargedAt`, by local counters if `isLocal`, now that its request has cost `actual` units. A
 * hold is released. Undefined if nothing is to be corrected.
 */
export function settlementOf(
  charge: Charge,
  chargedAt: number,
  isLocal: boolean,
  actual: number,
  overdraft: Overdraft,
): Settlement | undefined {
  const isHold = isConcurrency(charge.policy)
  const missing = actual - charge.cost
  if (isHold ? charge.hold === undefined || charge.cost === 0 : missing === 0) return undefined
  const { namespace, key, policy, onStoreFailure, hold } = charge
  // Written out, because copying the charge takes three times as long.
  return {
    namespace,
    key,
    policy,
    cost: isHold ? charge.cost : Math.abs(missing),
    onStoreFailure,
    chargedAt: !isHold && missing < 0 ? chargedAt : undefined,
    hold,
    correction: isHold ? "release" : missing < 0 ? "refund" : overdraft === "charge" ? "charge" : "fill",
    isLocal,
  }
}
