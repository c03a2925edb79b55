// How the response to a request changes what the request is charged: `refundOn` gives the charge back by status, and
// `cost.responseHeader` and `cost.responseJson` replace the estimate by the real cost. All of them settle what the rule has charged
// as a reservation does.

import { type HeaderSource, headerOf } from "../../request/header-source.js"
import { settlementOf, timeOfCharge } from "../../stores/settlement.js"
import type { Outcome, Settlement, Store } from "../../stores/store.js"
import { weightedSum } from "../../usage/fields.js"
import type { ResponseUsage } from "../../usage/response-reader.js"
import type { ResponseCharge } from "./compile-rule.js"
import { defaultOnStoreFailure, type Step } from "./plan.js"

/** The response to a request, as far as rules read it. */
export interface AnsweredRequest {
  /** Undefined if the client disconnected before the response had ended. */
  readonly status: number | undefined
  /** By lower-case name. */
  readonly headers?: HeaderSource | undefined
  /** Read where the headers do not have the cost: a server that streams a response knows its cost at the end. */
  readonly trailers?: HeaderSource | undefined
  /** What the reader of the body has found: see `RuleEngine.responseReader`. */
  readonly usage?: ResponseUsage | undefined
  /** The real cost, if the caller knows it: it is used instead of what headers and body say. */
  readonly cost?: number | undefined
}

/** The charge of one rule that the response may still change. */
export interface PendingCharge {
  readonly step: Step
  readonly responseCharge: ResponseCharge
  /** When each of its limits was charged, in microseconds by the store's clock. */
  readonly chargedAt: readonly number[]
  /** Whether local counters were charged, because the store failed. */
  readonly isLocal: boolean
}

/**
 * Undefined if the response cannot change the charge: the rule does not read it, the request was free, or the store has charged
 * nothing. `index` is that of the first limit of the step among the charges that the outcome is about.
 */
export function pendingCharge(step: Step, outcome: Outcome, index: number): PendingCharge | undefined {
  const { responseCharge } = step.rule
  if (responseCharge === undefined || step.cost === 0 || outcome.degraded === "allow") return undefined
  const chargedAt = step.limits.map((_, i) => timeOfCharge(outcome, index + i))
  return { step, responseCharge, chargedAt, isLocal: outcome.degraded === "local" }
}

interface ApplyOptions {
  readonly store: Store
  /** In microseconds; undefined for the store's own clock. */
  readonly at: number | undefined
}

/** Settles all charges in one call to the store. */
export async function applyResponse(
  pending: readonly PendingCharge[],
  response: AnsweredRequest,
  { store, at }: ApplyOptions,
): Promise<void> {
  const settlements = pending.flatMap((charge) => settlementsOf(charge, finalCost(charge, response)))
  if (settlements.length > 0) await store.settle(settlements, at, defaultOnStoreFailure(settlements))
}

/** What a step was charged, as it is at its final cost. What it holds is released when the request is over. */
function settlementsOf(
  { step, chargedAt, isLocal, responseCharge }: PendingCharge,
  cost: number,
): Settlement[] {
  const { key, rule, limits } = step
  return limits.flatMap(({ namespace, policy }, i) => {
    const charge = { namespace, key, policy, cost: step.cost, onStoreFailure: rule.onStoreFailure }
    return settlementOf(charge, chargedAt[i] as number, isLocal, cost, responseCharge.overdraft) ?? []
  })
}

/** The fields of the body that the charges depend on. */
export function responseFields(pending: readonly PendingCharge[]): ReadonlySet<string> {
  return new Set(pending.flatMap(({ responseCharge }) => [...responseCharge.fields.keys()]))
}

/**
 * What the request costs now that it is answered. The estimate stays if the response does not name the cost. After a response
 * that was cut, the larger of both counts: a client must not save by disconnecting before the usage is reported.
 */
function finalCost({ step, responseCharge }: PendingCharge, response: AnsweredRequest): number {
  const { refundOn, header, fields, max } = responseCharge
  const { status, usage } = response
  if (status !== undefined && refundOn.has(status)) return 0
  const units = (cost: number): number => Math.min(Math.ceil(cost * step.factor), max)
  if (response.cost !== undefined && (header !== undefined || fields.size > 0)) return units(response.cost)
  const given =
    header && status !== undefined
      ? (headerOf(response.headers, header) ?? headerOf(response.trailers, header))
      : undefined
  if (given !== undefined && /^\d{1,15}$/.test(given)) return units(Number(given))
  const used = usage && weightedSum(fields, usage.values)
  if (used === undefined) return step.cost
  return usage?.isComplete ? units(used) : Math.max(units(used), step.cost)
}
