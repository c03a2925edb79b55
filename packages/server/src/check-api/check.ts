// The routes that answer one question. The status is 200 for allowed and denied alike, unless the caller asks for another one.

import type { RuleDecision } from "sluice/rules"
import type { Core } from "../core.js"
import { type Answer, decisionHeaders, jsonAnswer } from "../http/answer.js"
import { decisionJson, explanationJson, smallDecisionJson } from "./decision-json.js"
import {
  type AskedKey,
  decide,
  type Question,
  readKey,
  readLook,
  readQuestion,
  readRequest,
} from "./question.js"
import { type CheckParameters, checkParameters, type JsonRoute, noParameters } from "./route.js"

/** `POST /v1/check`: decides, and charges if allowed. */
export function checkRoute(core: Core): JsonRoute {
  return (query, body) => {
    const parameters = checkParameters(query)
    return answer(core, readQuestion(body, ""), parameters)
  }
}

/** `POST /v1/peek`: decides, and charges nothing. */
export function peekRoute(core: Core): JsonRoute {
  return (query, body) => {
    const parameters = checkParameters(query)
    return answer(core, { ...readLook(body, ""), cost: 0 }, parameters)
  }
}

/** `POST /v1/refund`: refunds a charge, and answers the state of the key after it. */
export function refundRoute(core: Core): JsonRoute {
  return async (query, body) => {
    noParameters(query)
    const { rule, key, cost, ...options } = readKey(body, "", ["rule", "key", "tier", "cost"])
    await core.engine.refundKey(rule, key, cost, options)
    return await answerState(core, { rule, key, ...options })
  }
}

/** `POST /v1/reset`: resets a key, and answers its state after it. */
export function resetRoute(core: Core): JsonRoute {
  return async (query, body) => {
    noParameters(query)
    const { rule, key, ...options } = readKey(body, "", ["rule", "key", "tier"])
    await core.engine.resetKey(rule, key, options)
    return await answerState(core, { rule, key, ...options })
  }
}

/** `POST /v1/explain`: which rules match a request, and why the others do not. Charges nothing. */
export function explainRoute(core: Core): JsonRoute {
  return async (query, body) => {
    noParameters(query)
    const request = readRequest(body, "")
    return jsonAnswer(explanationJson(await core.engine.explain(request, request)))
  }
}

function answer(core: Core, question: Question, parameters: CheckParameters): Answer | Promise<Answer> {
  const decision = decide(core, "http", question)
  if (decision instanceof Promise) return decision.then((made) => decisionAnswer(made, parameters))
  return decisionAnswer(decision, parameters)
}

async function answerState(core: Core, asked: AskedKey): Promise<Answer> {
  const { rule, key, ...options } = asked
  return decisionAnswer(await core.engine.checkKey(rule, key, { ...options, cost: 0 }), {})
}

function decisionAnswer(decision: RuleDecision, parameters: CheckParameters): Answer {
  const status = decision.allowed ? 200 : (parameters.status ?? 200)
  if (parameters.isSmall === true) return jsonAnswer(smallDecisionJson(decision), status)
  return {
    status,
    type: "application/json",
    body: decisionJson(decision),
    headers: decisionHeaders(decision),
  }
}
