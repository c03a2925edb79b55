import type { MonitoredTarget, Target } from "./target.js"

/** A named backend: one or more targets that give the same answers. */
export interface Upstream {
  readonly name: string
  /**
   * Chooses the target of the next request; undefined when every target fails its health check. `except` has just failed:
   * another target is preferred.
   */
  pick(except?: Target): Target | undefined
}

export type Balance = "round-robin" | "least-connections"

/**
 * Distributes requests over targets. A target that fails its health check receives no requests. An ejected target receives
 * requests only when no other is left: a target that fails sometimes is better than none.
 */
export class BalancedUpstream implements Upstream {
  readonly name: string
  readonly targets: readonly MonitoredTarget[]
  readonly #leastConnections: boolean
  #nextIndex = 0

  constructor(name: string, targets: readonly MonitoredTarget[], balance: Balance) {
    this.name = name
    this.targets = targets
    this.#leastConnections = balance === "least-connections"
  }

  pick(except?: Target): MonitoredTarget | undefined {
    const { targets } = this
    const only = targets[0]
    if (targets.length === 1 && only !== undefined) return only.isHealthy ? only : undefined
    const found = this.#next(except, false)
    if (found !== undefined || except === undefined) return found ?? this.#next(undefined, true)
    return this.#next(undefined, false) ?? this.#next(except, true) ?? this.#next(undefined, true)
  }

  /** Searches from the target whose turn it is: the first usable one, or the one with the fewest exchanges in progress. */
  #next(except: Target | undefined, orEjected: boolean): MonitoredTarget | undefined {
    const { targets } = this
    const { length } = targets
    let found: MonitoredTarget | undefined
    let at = this.#nextIndex
    for (let i = 0; i < length; i++) {
      const target = targets[at] as MonitoredTarget
      at = at + 1 === length ? 0 : at + 1
      if (target === except || !target.isHealthy || (!orEjected && target.isEjected)) continue
      if (found !== undefined && found.active <= target.active) continue
      found = target
      this.#nextIndex = at
      if (!this.#leastConnections) break
    }
    return found
  }
}
