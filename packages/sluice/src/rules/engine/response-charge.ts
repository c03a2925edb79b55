// How the response to a request changes what the request is charged: `refundOn` gives the charge back by status, and
// `cost.responseHeader` replaces the estimate by the real cost.

import { isConcurrency } from "../../algorithms/concurrency.js"
import { giveBack } from "../../limiter/refund.js"
import { type HeaderSource, headerOf } from "../../request/header-source.js"
import type { Charge, Store } from "../../stores/store.js"
import type { ResponseCharge } from "./compile-rule.js"
import type { Step } from "./plan.js"
import type { RuleOutcome } from "./rule-decision.js"

/** The response to a request, as far as rules read it. */
export interface AnsweredRequest {
  readonly status: number
  /** By lower-case name. */
  readonly headers?: HeaderSource | undefined
  /** Read where the headers do not have the cost: a server that streams a response knows its cost at the end. */
  readonly trailers?: HeaderSource | undefined
}

/** The charge of one rule that the response may still change. */
export interface PendingCharge {
  readonly step: Step
  readonly responseCharge: ResponseCharge
  /** When each of its limits forgets the charge, in milliseconds since 1970. */
  readonly forgottenAt: readonly number[]
}

/** Other requests may take what was left in the meantime. After so many attempts nothing more is charged. */
const MAX_ATTEMPTS = 3

/** Undefined if the response cannot change the charge: the rule does not read it, or the request was free. */
export function pendingCharge(step: Step, { limits }: RuleOutcome): PendingCharge | undefined {
  const { responseCharge } = step.rule
  if (responseCharge === undefined || step.cost === 0) return undefined
  return { step, responseCharge, forgottenAt: limits.map(({ resetAt }) => resetAt) }
}

interface ApplyOptions {
  readonly store: Store
  /** In microseconds; undefined for the store's own clock. */
  readonly at: number | undefined
}

/** Refunds what was charged too much. Charges what was charged too little, as far as the limits have room. */
export async function applyResponse(
  pending: readonly PendingCharge[],
  response: AnsweredRequest,
  options: ApplyOptions,
): Promise<void> {
  await Promise.all(
    pending.flatMap((charge) => {
      const { step, forgottenAt } = charge
      const missing = finalCost(charge, response) - step.cost
      if (missing === 0) return []
      const { onStoreFailure } = step.rule
      const given = step.limits
        .map(({ namespace, policy }, i) => ({
          charge: { namespace, key: step.key, policy, cost: Math.abs(missing) },
          forgottenAt: forgottenAt[i] as number,
        }))
        // A response changes what was charged, not what was held.
        .filter(({ charge }) => !isConcurrency(charge.policy))
      if (missing > 0) return given.map(({ charge: more }) => chargeMore(more, onStoreFailure, options))
      return [giveBack(options.store, given, options.at, onStoreFailure)]
    }),
  )
}

/** What the request costs now that it is answered. A header that is missing or no whole number leaves the estimate. */
function finalCost({ step, responseCharge }: PendingCharge, response: AnsweredRequest): number {
  const { refundOn, header, max } = responseCharge
  if (refundOn.has(response.status)) return 0
  if (header === undefined) return step.cost
  const given = headerOf(response.headers, header) ?? headerOf(response.trailers, header)
  return given !== undefined && /^\d{1,15}$/.test(given) ? Math.min(Number(given), max) : step.cost
}

/** Charges the cost, or what is left if that is less: no response can charge beyond the limit. */
async function chargeMore(
  charge: Charge,
  onStoreFailure: Charge["onStoreFailure"],
  { store, at }: ApplyOptions,
): Promise<void> {
  let { cost } = charge
  for (let attempts = 0; cost > 0 && attempts < MAX_ATTEMPTS; attempts++) {
    const { allowed, verdicts } = await store.check([{ ...charge, cost }], at, onStoreFailure)
    if (allowed) return
    cost = Math.min(cost, verdicts[0]?.remaining ?? 0)
  }
}
