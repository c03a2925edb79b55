import { getOrAdd } from "../../get-or-add.js"
import type { Held } from "./plan.js"

/** What has become of the holds of one rule since the engine was created. */
export interface HoldCounts {
  acquired: number
  released: number
  /** Releases and extensions that came after the end of the hold: it ended by itself, or had been released before. */
  late: number
}

/** Counts the holds of the rules that enforce. Rules in shadow mode hold for nobody. */
export class HoldCounter {
  readonly byRule = new Map<string, HoldCounts>()

  count(held: readonly Held[], what: keyof HoldCounts): void {
    for (const { rule, isShadow } of held) {
      if (isShadow) continue
      getOrAdd(this.byRule, rule.id, () => ({ acquired: 0, released: 0, late: 0 }))[what]++
    }
  }
}
