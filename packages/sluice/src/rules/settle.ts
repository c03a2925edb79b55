import type { Charge, Store } from "../stores/store.js"
import { type AnsweredRequest, settledCost, type Unsettled } from "./settlement.js"

/** Others may take what was left meanwhile. Then there is less to take, and after this many times none. */
const MOST_TRIES = 3

export interface SettleOptions {
  readonly store: Store
  /** In microseconds; undefined for the store's own clock. */
  readonly at: number | undefined
  readonly nowMs: number
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
      return step.limits.map(async ({ space, policy }, i) => {
        const charge = { space, key: step.key, policy, cost: Math.abs(missing) }
        if (missing > 0) await take(charge, step.rule.onStoreFailure, options)
        // A window that is over has taken the charge with it: giving it back now would be a gift to the next.
        else if (options.nowMs < (forgottenAt[i] as number))
          await options.store.refund([charge], options.at, step.rule.onStoreFailure)
      })
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
