import { SluiceError } from "../../errors.js"
import type { CompiledLimit } from "../../limiter-options.js"
import type { Store } from "../../stores/store.js"

/** What the middlewares of this process count in each store: by namespace and key, the limit. */
const counted = new WeakMap<Store, Map<string, number>>()

/**
 * Warns of two middlewares that count the same clients in the same counters, and up to different limits: five logins a
 * minute would then be used up by any five requests. An unnamed limit is known by its window, so this happens easily.
 */
export function warnOfSharedCounters(store: Store, limits: readonly CompiledLimit[], keyBy: string): void {
  let known = counted.get(store)
  if (known === undefined) {
    known = new Map()
    counted.set(store, known)
  }
  for (const { name, namespace, policy } of limits) {
    const id = `${namespace} ${keyBy}`
    const other = known.get(id)
    known.set(id, policy.limit)
    if (other === undefined || other === policy.limit) continue
    globalThis.process?.emitWarning?.(
      new SluiceError("OPTION_CONFLICT", {
        place: `rateLimit.name of ${name}`,
        expected: `should be given, or prefix: another middleware counts in the same place of this store, up to ${other}`,
      }),
    )
  }
}
