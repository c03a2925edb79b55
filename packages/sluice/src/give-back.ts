// The one way to take back a charge. Whoever gives a request back does so after its answer, and by then the window that it
// was charged in may be over: the limit has forgotten the charge, and to take it off now would be a gift to somebody else's.

import type { Charge, Degraded, Store, SyncStore } from "./stores/store.js"
import { isSyncStore } from "./stores/store.js"

/** A charge, and when its limit will have forgotten it: milliseconds since 1970 by the store's clock, as `resetAt` says. */
export interface Given {
  readonly charge: Charge
  readonly forgottenAt: number
}

/** `at` is the time in microseconds; without it the store is asked for its own. */
export async function giveBack(
  store: Store,
  given: readonly Given[],
  at: number | undefined,
  onStoreFailure: Degraded | undefined,
): Promise<void> {
  if (given.length === 0) return
  // A store in memory is asked without a promise, so that the charge is off before anybody looks.
  const now =
    at ?? (isSyncStore(store) ? timeOfSync(store, given) : await timeOf(store, given, onStoreFailure))
  const charges = given
    .filter(({ forgottenAt }) => now < Math.round(forgottenAt * 1000))
    .map(({ charge }) => charge)
  if (charges.length > 0) await store.refund(charges, at, onStoreFailure)
}

function timeOfSync(store: SyncStore, given: readonly Given[]): number {
  return store.checkSync(given.map(({ charge }) => ({ ...charge, cost: 0 }))).now
}

/** Only the store knows: the clock of this machine may differ from its by more than a window. */
async function timeOf(
  store: Store,
  given: readonly Given[],
  onStoreFailure: Degraded | undefined,
): Promise<number> {
  const looks = given.map(({ charge }) => ({ ...charge, cost: 0 }))
  return (await store.decide(looks, undefined, onStoreFailure)).now
}
