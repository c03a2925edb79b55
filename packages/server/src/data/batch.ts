import { SluiceError } from "sluice"
import { problemBody } from "sluice/http"
import { type Core, DecidedTogether } from "../core.js"
import { type Answer, jsonAnswer } from "../http/answer.js"
import { requestProblem } from "../http/request-problem.js"
import { decisionJson } from "./decision-json.js"
import type { BodyRoute } from "./plane.js"
import { noParameters } from "./query.js"
import { decide, decideSync, isAboutKey, type Question, readQuestion } from "./question.js"

/**
 * `POST /v1/check/batch`: many questions in one, answered in their order. Each is all-or-nothing by itself, and a mistake in
 * one is a problem in its place and spoils none of the others.
 */
export function batchRoute(core: Core, most: number): BodyRoute {
  const places = Array.from({ length: most }, (_, i) => `checks[${i}]`)
  return (query, body) => {
    noParameters(query)
    const checks = readChecks(body, most)
    if (core.engine.isSync) return batchAnswer(resultsOf(core, checks, places))
    // All in one tick, so that a shared store takes them in as few calls as it can.
    const results = checks.map((check, i) => resultOf(core, check, places[i] as string))
    return Promise.all(results).then(batchAnswer)
  }
}

function batchAnswer(results: readonly string[]): Answer {
  return jsonAnswer(`{"results":[${results.join(",")}]}`)
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

/** Without promises: all are decided, then those who watch are told, then all are written. */
function resultsOf(core: Core, checks: readonly unknown[], places: readonly string[]): string[] {
  const together = new DecidedTogether("http")
  const problems = new Map<number, string>()
  try {
    checks.forEach((check, i) => {
      try {
        const question = questionOf(check, places[i] as string)
        const decision = decideSync(core.engine, question)
        together.add(decision, isAboutKey(question) ? undefined : question, question.cost)
      } catch (error) {
        problems.set(i, problemJson(error))
      }
    })
  } finally {
    together.tell(core.watch)
  }
  const results = together.made.map(({ decision }) => decisionJson(decision))
  for (const [i, problem] of problems) results.splice(i, 0, problem)
  return results
}

async function resultOf(core: Core, check: unknown, place: string): Promise<string> {
  try {
    return decisionJson(await decide(core, "http", questionOf(check, place)))
  } catch (error) {
    return problemJson(error)
  }
}

function questionOf(check: unknown, place: string): Question {
  if (typeof check !== "object" || check === null || Array.isArray(check))
    throw new SluiceError("BODY_FIELD_INVALID", { place, expected: "must be an object", found: check })
  return readQuestion(check as Record<string, unknown>, place)
}

/** What is nobody's mistake fails the whole batch: it would go wrong for the others too. */
function problemJson(error: unknown): string {
  if (!(error instanceof SluiceError)) throw error
  return `{"problem":${problemBody(requestProblem(error))}}`
}
