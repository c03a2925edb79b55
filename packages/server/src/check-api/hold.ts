// The routes of holds: a caller acquires what a request holds by limits of concurrency, extends it while it works, and releases
// it at the end. The id of a hold is all that a caller needs for that, so every caller that may check may also release: no
// caller can guess the id of another one's hold.

import { SluiceError } from "sluice"
import type { RuleDecision } from "sluice/rules"
import type { Core } from "../core.js"
import { type Answer, decisionHeaders, jsonAnswer } from "../http/answer.js"
import { decisionJson, smallDecisionJson } from "./decision-json.js"
import { decide, readAcquire } from "./question.js"
import { type CheckParameters, checkParameters, type JsonRoute, noParameters } from "./route.js"

/** `POST /v1/acquire`: decides as `/v1/check` does, and answers the id of what the request holds. */
export function acquireRoute(core: Core): JsonRoute {
  return (query, body) => {
    const parameters = checkParameters(query)
    const decision = decide(core, "http", readAcquire(body))
    if (decision instanceof Promise) return decision.then((made) => acquired(core, made, parameters))
    return acquired(core, decision, parameters)
  }
}

/** `POST /v1/release`: ends a hold. A hold that has ended is left alone. */
export function releaseRoute(core: Core): JsonRoute {
  return async (query, body) => {
    noParameters(query)
    return jsonAnswer(JSON.stringify({ released: await core.engine.release(readHold(body)) }))
  }
}

/** `POST /v1/extend`: lets a hold begin again. */
export function extendRoute(core: Core): JsonRoute {
  return async (query, body) => {
    noParameters(query)
    return jsonAnswer(JSON.stringify({ extended: await core.engine.extend(readHold(body)) }))
  }
}

function acquired(core: Core, decision: RuleDecision, { status = 200, isSmall }: CheckParameters): Answer {
  const json = isSmall === true ? smallDecisionJson(decision) : decisionJson(decision)
  const hold = core.engine.holdOf(decision)
  return {
    status: decision.allowed ? 200 : status,
    type: "application/json",
    body: hold === undefined ? json : `${json.slice(0, -1)},"hold":"${hold.id}","holdMs":${hold.holdMs}}`,
    headers: isSmall === true ? [] : decisionHeaders(decision),
  }
}

/** The id in a body. The engine checks what it says. */
function readHold(body: Record<string, unknown>): string {
  const { hold, ...others } = body
  const [other] = Object.keys(others)
  if (other !== undefined) {
    throw new SluiceError("BODY_UNKNOWN_FIELD", {
      place: "body",
      expected: "may only have the field hold",
      found: other,
    })
  }
  if (typeof hold === "string") return hold
  throw new SluiceError("BODY_FIELD_INVALID", {
    place: "hold",
    expected: "must be the id of a hold, as /v1/acquire has answered it",
    found: hold,
  })
}
