import { SluiceError } from "sluice"
import { problemBody } from "sluice/http"
import type { RuleDecision } from "sluice/rules"
import type { Core } from "../core.js"
import { jsonAnswer } from "../http/answer.js"
import { requestProblem } from "../http/request-problem.js"
import { decisionJson } from "./decision-json.js"
import type { BodyRoute } from "./plane.js"
import { noParameters } from "./query.js"
import { decide, readQuestion } from "./question.js"

/**
 * `POST /v1/check/batch`: many questions in one, answered in their order. Each is all-or-nothing by itself, and a mistake in
 * one is a problem in its place and spoils none of the others.
 */
export function batchRoute(core: Core, most: number): BodyRoute {
  return (query, body) => {
    noParameters(query)
    const checks = readChecks(body, most)
    // All in one tick, so that a shared store takes them in as few calls as it can.
    const results = checks.map((check, i) => resultOf(core, check, `checks[${i}]`))
    if (!results.some(isPromise)) return jsonAnswer(`{"results":[${results.join(",")}]}`)
    return Promise.all(results).then((all) => jsonAnswer(`{"results":[${all.join(",")}]}`))
  }
}

function readChecks(body: Record<string, unknown>, most: number): readonly unknown[] {
  const { checks, ...others } = body
  const [other] = Object.keys(others)
  if (other !== undefined) {
    throw new SluiceError("BODY_UNKNOWN_FIELD", {
      place: "body",
      expected: "has no field but checks",
      found: other,
    })
  }
  if (!Array.isArray(checks)) {
    throw new SluiceError("BODY_FIELD_INVALID", {
      place: "checks",
      expected: "must be a list of checks",
      found: checks,
    })
  }
  if (checks.length > most) {
    throw new SluiceError("BATCH_TOO_LARGE", {
      place: "checks",
      expected: `may have ${most} entries at most`,
      found: checks.length,
    })
  }
  return checks
}

function resultOf(core: Core, check: unknown, place: string): string | Promise<string> {
  try {
    if (typeof check !== "object" || check === null || Array.isArray(check))
      throw new SluiceError("BODY_FIELD_INVALID", { place, expected: "must be an object", found: check })
    const decision = decide(core, "http", readQuestion(check as Record<string, unknown>, place))
    return isPromise(decision) ? decision.then(decisionJson, problemJson) : decisionJson(decision)
  } catch (error) {
    return problemJson(error)
  }
}

/** What is nobody's mistake fails the whole batch: it would go wrong for the others too. */
function problemJson(error: unknown): string {
  if (!(error instanceof SluiceError)) throw error
  return `{"problem":${problemBody(requestProblem(error))}}`
}

function isPromise<T extends string | RuleDecision>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise
}
