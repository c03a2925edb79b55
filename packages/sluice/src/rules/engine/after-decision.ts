// What may still happen to the charges of an allowed request: a refund, or the settlement by its response.

import { costOf } from "../../call-options.js"
import { giveBack } from "../../limiter/refund.js"
import { checkObject } from "../../options.js"
import { type ResponseReader, responseReader } from "../../usage/response-reader.js"
import { CHARGED, type ChargedDecision, HELD, PENDING } from "./build-decision.js"
import type { Decider } from "./decider.js"
import type { Holding } from "./holding.js"
import { defaultOnStoreFailure } from "./plan.js"
import { type AnsweredRequest, applyResponse, responseFields } from "./response-charge.js"
import type { RuleDecision } from "./rule-decision.js"

/** Gives back what a request was charged, or `cost` of it, and releases what it holds. */
export async function refundDecision(
  decision: RuleDecision,
  cost: number | undefined,
  decider: Decider,
  holding: Holding,
): Promise<void> {
  checkObject(decision, "refund")
  const charges = (decision as ChargedDecision)[CHARGED]
  if (charges === undefined) return
  const units = cost === undefined ? undefined : costOf(cost)
  // The rules that were charged come first, with their limits in the order of the charges.
  const limits = decision.rules.flatMap((outcome) => outcome.limits)
  const given = charges
    .map((charge, i) => ({
      charge: units === undefined ? charge : { ...charge, cost: units },
      forgottenAt: limits[i]?.resetAt ?? decision.resetAt,
    }))
    .filter(({ charge }) => charge.hold === undefined)
  await Promise.all([
    given.length === 0
      ? undefined
      : giveBack(decider.store, given, decider.at(undefined), defaultOnStoreFailure(charges)),
    (decision as ChargedDecision)[HELD] === undefined ? undefined : holding.release(decision),
  ])
}

/** Whether the response may change what the request was charged, or the request holds something. */
export function mustSettle(decision: RuleDecision): boolean {
  checkObject(decision, "mustSettle")
  const { [PENDING]: pending, [HELD]: held } = decision as ChargedDecision
  return pending !== undefined || held !== undefined
}

/** A reader for the body of the response. Undefined if no rule charges by the body, or none can be read from its type. */
export function readerOfResponse(
  decision: RuleDecision,
  contentType: string | null | undefined,
): ResponseReader | undefined {
  checkObject(decision, "responseReader")
  const fields = responseFields((decision as ChargedDecision)[PENDING] ?? [])
  return fields.size === 0 ? undefined : responseReader(fields, contentType)
}

/** Settles the charges of a request by its response. Only the first call for a decision has an effect. */
export async function settleDecision(
  decision: RuleDecision,
  answer: AnsweredRequest,
  decider: Decider,
): Promise<void> {
  checkObject(decision, "settle")
  const charged = decision as ChargedDecision
  const pending = charged[PENDING]
  if (pending === undefined) return
  checkObject(answer, "settle.answer")
  costOf(answer.cost)
  charged[PENDING] = undefined
  await applyResponse(pending, answer, { store: decider.store, at: decider.at(undefined) })
}
