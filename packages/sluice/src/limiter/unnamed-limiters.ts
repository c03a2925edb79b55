// Limiters without a name on a store that others may use. Two of them with the same limits share their counters, which is
// seldom meant.

import { SluiceError } from "../errors.js"
import { getOrAdd } from "../get-or-add.js"
import { type Logger, warn } from "../notify.js"
import type { Store } from "../stores/store.js"

export interface Registration {
  /** The limiter was closed. */
  end(): void
}

/** How many limiters are open, by store and by what they are known by. */
const open = new WeakMap<Store, Map<string, number>>()

/** Registers a limiter, and gives a warning if it is the second with these limits on this store. */
export function register(store: Store, limits: string, logger?: Logger): Registration {
  const known = getOrAdd(open, store, () => new Map<string, number>())
  const others = known.get(limits) ?? 0
  known.set(limits, others + 1)
  if (others === 1) {
    warn(
      new SluiceError("LIMITERS_UNNAMED", {
        place: "createLimiter.name",
        expected: `should be given: two limiters without a name have the limits ${limits} on this store and so share their counters. Give each its own name or prefix, or both the same name if that is meant`,
      }),
      logger,
    )
  }
  let isOpen = true
  return {
    end() {
      if (isOpen) known.set(limits, (known.get(limits) ?? 1) - 1)
      isOpen = false
    },
  }
}
