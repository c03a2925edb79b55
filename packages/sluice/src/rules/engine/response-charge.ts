import { giveBack } from "../../refund.js"
import type { Charge, Store } from "../../stores/store.js"
import { type AnsweredRequest, settledCost, type Unsettled } from "./response-cost.js"

/** Others may take what was left meanwhile. Then there is less to take, and after this many times none. */
const MOST_TRIES = 3

export interface SettleOptions {
  readonly store: Store
  /** In microseconds; undefined for the store's own clock. */
  readonly at: number | undefined
}

/** Gives back what a request was charged too much, and takes what it was charged too little, as far as there is any left. */
export async function settle(
  all: readonly Unsettled[],
  answer: AnsweredRequest,
  options: SettleOptions,
): Promise<void> {
  await Promise.all(
    all.flatMap((unsettled) => {
      const { step, forgottenAt } = unsettled
      const missing = settledCost(unsettled, answer) - step.cost
      if (missing === 0) return []
      const { onStoreFailure } = step.rule
      const given = step.limits.map(({ namespace, policy }, i) => ({
        charge: { namespace, key: step.key, policy, cost: Math.abs(missing) },
        forgottenAt: forgottenAt[i] as number,
      }))
      if (missing > 0) return given.map(({ charge }) => take(charge, onStoreFailure, options))
      return [giveBack(options.store, given, options.at, onStoreFailure)]
    }),
  )
}

/** Charges the cost, or what is left when that is less: a limit is never below nothing, whatever an answer says. */
async function take(
  charge: Charge,
  onStoreFailure: Charge["onStoreFailure"],
  { store, at }: SettleOptions,
): Promise<void> {
  let { cost } = charge
  for (let tries = 0; cost > 0 && tries < MOST_TRIES; tries++) {
    const { allowed, verdicts } = await store.check([{ ...charge, cost }], at, onStoreFailure)
    if (allowed) return
    cost = Math.min(cost, verdicts[0]?.remaining ?? 0)
  }
}
