import type { GatewayState } from "./gateway-metrics.js"
import type { StoreState } from "./store-state.js"

type Breakers = NonNullable<StoreState["breakers"]>

export interface WorkerState {
  readonly breakers: Breakers | undefined
  readonly watching: number
  readonly gateway: GatewayState | undefined
}

/** The current state of each worker, and the sum over all workers. */
export class WorkerStates {
  readonly #states = new Map<number, WorkerState>()

  set(worker: number, { breakers, watching, gateway }: WorkerState): void {
    this.#states.set(worker, { breakers, watching, gateway })
  }

  delete(worker: number): void {
    this.#states.delete(worker)
  }

  /** Adds the breakers of this process, if it has any. */
  breakers(own: Breakers | undefined): Breakers | undefined {
    const all = [own, ...[...this.#states.values()].map(({ breakers }) => breakers)].filter(
      (breakers) => breakers !== undefined,
    )
    if (all.length === 0) return undefined
    const sum = { closed: 0, open: 0, "half-open": 0 }
    for (const breakers of all)
      for (const state of ["closed", "open", "half-open"] as const) sum[state] += breakers[state]
    return sum
  }

  watching(own: number): number {
    let sum = own
    for (const { watching } of this.#states.values()) sum += watching
    return sum
  }

  /** A target is up if every worker finds it up. Each worker checks it itself. */
  gateway(own: GatewayState | undefined): GatewayState | undefined {
    const all = [own, ...[...this.#states.values()].map(({ gateway }) => gateway)].filter(
      (gateway) => gateway !== undefined,
    )
    if (all.length <= 1) return all[0]
    const targets = new Map<string, GatewayState["targets"][number]>()
    for (const each of all.flatMap((gateway) => gateway.targets)) {
      const name = JSON.stringify([each.upstream, each.target])
      const known = targets.get(name)
      const isUp = each.isUp && (known?.isUp ?? true)
      targets.set(name, { ...each, isUp, active: each.active + (known?.active ?? 0) })
    }
    return {
      targets: [...targets.values()],
      upgrades: all.reduce((sum, { upgrades }) => sum + upgrades, 0),
    }
  }
}
