// The routes of reservations: a caller reserves an estimate, and settles it when the real cost is known. A reservation is
// authenticated and settles only what it has reserved, so every caller that may check may also settle.

import { SluiceError } from "sluice"
import type { ReservedRuleDecision, RuleReserveOptions } from "sluice/rules"
import { type Core, notified, type SettlementResult } from "../core.js"
import { type Answer, decisionHeaders, jsonAnswer } from "../http/answer.js"
import { decisionJson, smallDecisionJson } from "./decision-json.js"
import { isAboutKey, readAcquire } from "./question.js"
import { type CheckParameters, checkParameters, type JsonRoute, noParameters } from "./route.js"

/** `POST /v1/reserve`: decides as `/v1/check` does, and answers a reservation of what was charged. */
export function reserveRoute(core: Core): JsonRoute {
  return async (query, body) => {
    const parameters = checkParameters(query)
    const started = performance.now()
    const { hold, overdraft, ...rest } = body
    const { cost, ...question } = readAcquire(rest)
    // The engine checks these.
    const options = { cost, hold, overdraft } as RuleReserveOptions
    if (!isAboutKey(question)) {
      const decision = await core.engine.reserve(question, options)
      notified(core, decision, "http", question, cost, started)
      return reserved(core, decision, parameters)
    }
    const { rule, key, ...tier } = question
    const decision = await core.engine.reserveKey(rule, key, { ...options, ...tier })
    notified(core, decision, "http", undefined, cost, started)
    return reserved(core, decision, parameters)
  }
}

/**
 * `POST /v1/settle`: corrects what was charged to the real cost. A cost of 0 cancels the reservation. A second call answers the same
 * and changes nothing.
 */
export function settleRoute(core: Core): JsonRoute {
  return async (query, body) => {
    noParameters(query)
    const { reservation, cost } = readSettle(body)
    try {
      const { isFirst } = await core.engine.settleReservation(reservation, cost)
      core.watch.settled?.(isFirst ? "settled" : "repeated")
    } catch (error) {
      const result = resultOf(error)
      if (result !== undefined) core.watch.settled?.(result)
      throw error
    }
    return jsonAnswer('{"settled":true}')
  }
}

function reserved(
  core: Core,
  decision: ReservedRuleDecision,
  { status = 200, isSmall }: CheckParameters,
): Answer {
  const { reservation, settleBefore } = decision
  if (reservation !== undefined) core.watch.reserved?.()
  const json = isSmall === true ? smallDecisionJson(decision) : decisionJson(decision)
  const added =
    reservation === undefined ? "" : `,"reservation":"${reservation}","settleBefore":${settleBefore}`
  return {
    status: decision.allowed ? 200 : status,
    type: "application/json",
    body: `${json.slice(0, -1)}${added}}`,
    headers: isSmall === true ? [] : decisionHeaders(decision),
  }
}

/** Undefined for a mistake in the call. */
function resultOf(error: unknown): SettlementResult | undefined {
  switch (error instanceof SluiceError ? error.code : undefined) {
    case "RESERVATION_UNKNOWN":
      return "unknown"
    case "RESERVATION_EXPIRED":
      return "expired"
    case "STORE_UNAVAILABLE":
      return "failed"
    default:
      return undefined
  }
}

function readSettle(body: Record<string, unknown>): { reservation: string; cost: number } {
  const { reservation, cost, ...others } = body
  const [other] = Object.keys(others)
  if (other !== undefined) {
    throw new SluiceError("BODY_UNKNOWN_FIELD", {
      place: "body",
      expected: "may only have the fields reservation and cost",
      found: other,
    })
  }
  // The error never shows a reservation: whoever has it can settle it.
  if (typeof reservation !== "string") {
    throw new SluiceError("BODY_FIELD_INVALID", {
      place: "reservation",
      expected: "must be the text that /v1/reserve has answered",
    })
  }
  if (typeof cost === "number") return { reservation, cost }
  throw new SluiceError("BODY_FIELD_INVALID", {
    place: "cost",
    expected: "must be the real cost, a number; 0 cancels the reservation",
    found: cost,
  })
}
