// The one way to take back a charge. Whoever gives a request back does so after its answer, and by then the window that it
// was charged in may be over: the limit has forgotten the charge, and to take it off now would be a gift to somebody else's.

import type { Charge, Degraded, Store } from "./stores/store.js"
import { isSyncStore } from "./stores/store.js"

/** A charge, and when its limit will have forgotten it: milliseconds since 1970 by the store's clock, as `resetAt` says. */
export interface Given {
  readonly charge: Charge
  readonly forgottenAt: number
}

/**
 * `at` is the time in microseconds. Without it the store is asked, because the clock of this machine may differ from the
 * store's by more than a window; one in memory without a promise, so that the charge is off before anybody looks.
 */
export async function giveBack(
  store: Store,
  given: readonly Given[],
  at: number | undefined,
  onStoreFailure: Degraded,
): Promise<void> {
  const looks = given.map(({ charge }) => ({ ...charge, cost: 0 }))
  const now =
    at ?? (isSyncStore(store) ? store.checkSync(looks) : await store.decide(looks, at, onStoreFailure)).now
  const remembered = given.filter(({ forgottenAt }) => now < Math.round(forgottenAt * 1000))
  if (remembered.length === 0) return
  await store.refund(
    remembered.map(({ charge }) => charge),
    at,
    onStoreFailure,
  )
}
