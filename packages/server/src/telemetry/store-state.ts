// The state of a store, whichever kind it is.

import type { MemoryStoreStats, Store } from "sluice"
import type { BreakerState } from "sluice/redis"

export interface StoreState {
  readonly keys?: number
  readonly bytes?: number
  readonly evicted?: number
  readonly refused?: number
  /** How many breakers are in each state. Undefined for a store that cannot fail. */
  readonly breakers?: Readonly<Record<BreakerState, number>>
  readonly instances?: number
}

export function stateOfStore(store: Store): StoreState {
  const { stats, breakers } = store as {
    stats?: Partial<MemoryStoreStats>
    breakers?: readonly BreakerState[]
  }
  return {
    ...(typeof stats?.keys === "number" ? (stats as MemoryStoreStats) : {}),
    ...(breakers === undefined ? {} : { breakers: countStates(breakers) }),
    ...(store.instances === undefined ? {} : { instances: store.instances }),
  }
}

function countStates(breakers: readonly BreakerState[]): Record<BreakerState, number> {
  const counts = { closed: 0, open: 0, "half-open": 0 }
  for (const state of breakers) counts[state]++
  return counts
}
