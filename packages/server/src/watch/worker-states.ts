import type { StoreState } from "./store-state.js"

type Breakers = NonNullable<StoreState["breakers"]>

/** What is so in each worker right now, and added up over all. */
export class WorkerStates {
  readonly #states = new Map<number, { readonly breakers: Breakers | undefined; readonly watching: number }>()

  set(worker: number, breakers: Breakers | undefined, watching: number): void {
    this.#states.set(worker, { breakers, watching })
  }

  delete(worker: number): void {
    this.#states.delete(worker)
  }

  /** With those of this process, if it has any. */
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
}
