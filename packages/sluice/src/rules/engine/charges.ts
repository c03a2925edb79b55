// From the steps of a plan to what a store is asked to charge.

import { blockPolicy } from "../../algorithms/block.js"
import type { Charge, Degraded, Store } from "../../stores/store.js"
import type { Step } from "./plan.js"
import type { CompiledRule } from "./rule-set.js"

const NO_RULES: readonly CompiledRule[] = []

export function chargesOfStep({ limits, key, cost }: Step): Charge[] {
  return limits.map(({ namespace, policy }) => ({ namespace, key, policy, cost }))
}

/** What the steps charge, and behind it the blocks of their keys where there may be any. */
export function chargesOfSteps(
  steps: readonly Step[],
  store: Pick<Store, "mayBlock">,
): { charges: Charge[]; blocked: readonly CompiledRule[] } {
  const charges: Charge[] = []
  const way = steps[0]?.rule.onStoreFailure
  const isMixed = steps.some((step) => step.rule.onStoreFailure !== way)
  for (const { rule, key, limits, cost } of steps) {
    for (const { namespace, policy } of limits) {
      charges.push(
        isMixed || way !== "local"
          ? { namespace, key, policy, cost, onStoreFailure: rule.onStoreFailure }
          : { namespace, key, policy, cost },
      )
    }
  }
  let blocked = NO_RULES
  for (const { rule, key } of steps) {
    if (!store.mayBlock(rule.blocks)) continue
    blocked = [...blocked, rule]
    charges.push({
      namespace: rule.blocks,
      key,
      policy: blockPolicy,
      cost: 0,
      onStoreFailure: rule.onStoreFailure,
    })
  }
  return { charges, blocked }
}

/** What decides when the store cannot, for the charges that do not say: they are all `local`. */
export function commonWay(charges: readonly Charge[]): Degraded {
  return charges[0]?.onStoreFailure ?? "local"
}
