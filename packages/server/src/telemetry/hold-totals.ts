import type { HoldCounts } from "sluice/rules"

/** Adds up the holds of several processes, by rule. What a process has counted stays after its end. */
export class HoldTotals {
  readonly byRule = new Map<string, HoldCounts>()
  readonly #latest = new Map<number, ReadonlyMap<string, HoldCounts>>()

  /** Takes what a process has counted since its start. */
  set(process: number, counts: ReadonlyMap<string, HoldCounts>): void {
    const before = this.#latest.get(process)
    const latest = new Map<string, HoldCounts>()
    for (const [rule, now] of counts) {
      const total = this.byRule.get(rule) ?? { acquired: 0, released: 0, late: 0 }
      const known = before?.get(rule)
      for (const name of ["acquired", "released", "late"] as const)
        total[name] += now[name] - (known?.[name] ?? 0)
      this.byRule.set(rule, total)
      latest.set(rule, { ...now })
    }
    this.#latest.set(process, latest)
  }

  delete(process: number): void {
    this.#latest.delete(process)
  }
}
