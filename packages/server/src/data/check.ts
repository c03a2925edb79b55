// The routes about a single question. A decision is a 200 whichever way it went, unless the caller wants to see it in the
// status.

import type { ServerResponse } from "node:http"
import type { RuleDecision } from "sluice/rules"
import type { Core } from "../core.js"
import { decisionHeaders, send, sendJson } from "../http/answer.js"
import { decisionJson, explanationJson } from "./decision-json.js"
import type { BodyRoute } from "./plane.js"
import { noParameters, statusParameter } from "./query.js"
import {
  type AskedKey,
  decide,
  type Question,
  readKey,
  readLook,
  readQuestion,
  readRequest,
} from "./question.js"

/** `POST /v1/check`: decides, and charges if it may pass. */
export function checkRoute(core: Core): BodyRoute {
  return ({ response, query }, body) => {
    const status = statusParameter(query, "status")
    return answer(core, response, readQuestion(body, ""), status)
  }
}

/** `POST /v1/peek`: decides, and charges nothing. */
export function peekRoute(core: Core): BodyRoute {
  return ({ response, query }, body) => {
    const status = statusParameter(query, "status")
    return answer(core, response, { ...readLook(body, ""), cost: 0 }, status)
  }
}

/** `POST /v1/refund`: gives back what a key was charged, and answers how it stands then. */
export function refundRoute(core: Core): BodyRoute {
  return async ({ response, query }, body) => {
    noParameters(query)
    const { rule, key, cost, ...options } = readKey(body, "", ["rule", "key", "tier", "cost"])
    await core.engine.refundKey(rule, key, cost, options)
    await answerState(core, response, { rule, key, ...options })
  }
}

/** `POST /v1/reset`: forgets what a key was charged, and answers how it stands then. */
export function resetRoute(core: Core): BodyRoute {
  return async ({ response, query }, body) => {
    noParameters(query)
    const { rule, key, ...options } = readKey(body, "", ["rule", "key", "tier"])
    await core.engine.resetKey(rule, key, options)
    await answerState(core, response, { rule, key, ...options })
  }
}

/** `POST /v1/explain`: every rule and why it has a say or not. Charges nothing. */
export function explainRoute(core: Core): BodyRoute {
  return async ({ response, query }, body) => {
    noParameters(query)
    const request = readRequest(body, "")
    sendJson(response, explanationJson(await core.engine.explain(request, request)))
  }
}

function answer(
  core: Core,
  response: ServerResponse,
  question: Question,
  deniedStatus: number | undefined,
): void | Promise<void> {
  const decision = decide(core, "http", question)
  if (decision instanceof Promise) return decision.then((made) => sendDecision(response, made, deniedStatus))
  sendDecision(response, decision, deniedStatus)
}

async function answerState(core: Core, response: ServerResponse, asked: AskedKey): Promise<void> {
  const { rule, key, ...options } = asked
  sendDecision(response, await core.engine.checkKey(rule, key, { ...options, cost: 0 }), undefined)
}

function sendDecision(
  response: ServerResponse,
  decision: RuleDecision,
  deniedStatus: number | undefined,
): void {
  const status = decision.allowed ? 200 : (deniedStatus ?? 200)
  send(response, status, "application/json", decisionJson(decision), decisionHeaders(decision))
}
