import { SluiceError } from "sluice"
import { problemBody } from "sluice/http"
import type { Core } from "../core.js"
import { jsonAnswer, requestProblem } from "../http/answer.js"
import { decisionJson } from "./decision-json.js"
import { decide, type Question, readQuestion } from "./question.js"
import { type JsonRoute, noParameters } from "./route.js"

/**
 * `POST /v1/check/batch`: answers many questions in their order. Each is all-or-nothing by itself. A mistake in one is a
 * problem in its place, and the others are decided nevertheless.
 */
export function batchRoute(core: Core, maxChecks: number): JsonRoute {
  return (query, body) => {
    noParameters(query)
    const checks = readChecks(body, maxChecks)
    if (core.engine.isSync) {
      let results = ""
      for (let i = 0; i < checks.length; i++)
        results += (i === 0 ? "" : ",") + (resultOf(core, checks[i], i) as string)
      return jsonAnswer(`{"results":[${results}]}`)
    }
    // All in one tick, so that the store can batch them into few calls.
    const results = checks.map((check, i) => resultOf(core, check, i))
    return Promise.all(results).then((made) => jsonAnswer(`{"results":[${made.join(",")}]}`))
  }
}

function readChecks(body: Record<string, unknown>, maxChecks: number): readonly unknown[] {
  const { checks, ...others } = body
  const [other] = Object.keys(others)
  if (other !== undefined) {
    throw new SluiceError("BODY_UNKNOWN_FIELD", {
      place: "body",
      expected: "may only have the field checks",
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
  if (checks.length > maxChecks) {
    throw new SluiceError("BATCH_TOO_LARGE", {
      place: "checks",
      expected: `may have ${maxChecks} entries at most`,
      found: checks.length,
    })
  }
  return checks
}

/** The result of one check; a promise only where the store needs one. */
function resultOf(core: Core, check: unknown, index: number): string | Promise<string> {
  try {
    const decision = decide(core, "http", questionOf(check, index))
    return decision instanceof Promise ? decision.then(decisionJson, problemJson) : decisionJson(decision)
  } catch (error) {
    return problemJson(error)
  }
}

/** `checks[0]`, `checks[1]`, … as errors name them, for the longest batch so far. */
const places: string[] = []

function placeOf(index: number): string {
  places[index] ??= `checks[${index}]`
  return places[index]
}

function questionOf(check: unknown, index: number): Question {
  const place = placeOf(index)
  if (typeof check !== "object" || check === null || Array.isArray(check))
    throw new SluiceError("BODY_FIELD_INVALID", { place, expected: "must be an object", found: check })
  return readQuestion(check as Record<string, unknown>, place)
}

/** An error that is not the caller's mistake fails the whole batch: it would fail the other checks too. */
function problemJson(error: unknown): string {
  if (!(error instanceof SluiceError)) throw error
  return `{"problem":${problemBody(requestProblem(error))}}`
}
