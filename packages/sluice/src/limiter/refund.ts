// Refunds that come after the response of a request. By then the window of the charge may be over: a refund would then take
// units of other requests, so it is left out.

import type { Charge, Degraded, Store } from "../stores/store.js"
import { isSyncStore } from "../stores/store.js"

/** A charge, and when it stops counting: milliseconds since 1970 by the store's clock, the `resetAt` of its decision. */
interface Given {
  readonly charge: Charge
  readonly forgottenAt: number
}

/**
 * Refunds the charges that still count. `at` is the time in microseconds. Without it the store says the time, because the clock of
 * this machine may differ from the store's by more than a window. A synchronous store refunds before this function returns.
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
