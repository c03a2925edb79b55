import type { LeaseStats } from "sluice"

/** What leases have done in all processes of the service. `keys` and `held` are of now; the others count since the start. */
export type LeaseState = Pick<
  LeaseStats,
  "keys" | "held" | "spent" | "returned" | "wasted" | "answered" | "calls"
>

const COUNTS = ["spent", "returned", "wasted", "answered", "calls"] as const

/** Adds up the leases of several processes. What a process has counted stays after its end. */
export class LeaseTotals {
  readonly #latest = new Map<number, LeaseStats>()
  readonly #totals = { spent: 0, returned: 0, wasted: 0, answered: 0, calls: 0 }

  /** Takes what a process has counted since its start. */
  set(process: number, stats: LeaseStats): void {
    const before = this.#latest.get(process)
    // Units of a lease that is in use may count as wasted for a moment: a counter must not go back.
    for (const name of COUNTS) this.#totals[name] += Math.max(0, stats[name] - (before?.[name] ?? 0))
    this.#latest.set(process, { ...stats, wasted: Math.max(stats.wasted, before?.wasted ?? 0) })
  }

  delete(process: number): void {
    this.#latest.delete(process)
  }

  /** Undefined if no process has a store that leases are taken from. */
  state(): LeaseState | undefined {
    if (this.#latest.size === 0 && this.#totals.calls === 0) return undefined
    let keys = 0
    let held = 0
    for (const stats of this.#latest.values()) {
      keys += stats.keys
      held += stats.held
    }
    return { keys, held, ...this.#totals }
  }
}
