import type { FitTarget } from "./target-health.js"
import type { Target, Upstream } from "./upstream.js"

export type Balance = "round-robin" | "least-connections"

/**
 * Spreads requests over targets. Those that fail their health check get none. Those that are ejected for failing requests get
 * some when nobody else is left: an address that fails now and then is better than none.
 */
export class BalancedUpstream implements Upstream {
  readonly name: string
  readonly targets: readonly FitTarget[]
  readonly #least: boolean
  #turn = 0

  constructor(name: string, targets: readonly FitTarget[], balance: Balance) {
    this.name = name
    this.targets = targets
    this.#least = balance === "least-connections"
  }

  pick(except?: Target): FitTarget | undefined {
    const { targets } = this
    const only = targets[0]
    if (targets.length === 1 && only !== undefined) return only.isHealthy ? only : undefined
    const fit = this.#next(except, false)
    if (fit !== undefined || except === undefined) return fit ?? this.#next(undefined, true)
    return this.#next(undefined, false) ?? this.#next(except, true) ?? this.#next(undefined, true)
  }

  /** From the one whose turn it is: the first that is fit, or the least busy of those that are. */
  #next(except: Target | undefined, orEjected: boolean): FitTarget | undefined {
    const { targets } = this
    const { length } = targets
    let found: FitTarget | undefined
    let at = this.#turn
    for (let i = 0; i < length; i++) {
      const target = targets[at] as FitTarget
      at = at + 1 === length ? 0 : at + 1
      if (target === except || !target.isHealthy || (!orEjected && target.isEjected)) continue
      if (found !== undefined && found.active <= target.active) continue
      found = target
      this.#turn = at
      if (!this.#least) break
    }
    return found
  }
}
