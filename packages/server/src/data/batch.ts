import { SluiceError } from "sluice"
import { problemBody } from "sluice/http"
import { type Core, type Decided, DecidedTogether } from "../core.js"
import { jsonAnswer } from "../http/answer.js"
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
  /** What is said of a mistake in each place, as far as there were batches so long. */
  const places: string[] = []
  return (query, body) => {
    noParameters(query)
    const checks = readChecks(body, most)
    while (places.length < checks.length) places.push(`checks[${places.length}]`)
    if (core.engine.isSync) return jsonAnswer(`{"results":[${resultsOf(core, checks, places)}]}`)
    // All in one tick, so that a shared store takes them in as few calls as it can.
    const results = checks.map((check, i) => resultOf(core, check, places[i] as string))
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

/** Without promises: all are decided, then those who watch are told, then all are written. */
function resultsOf(core: Core, checks: readonly unknown[], places: readonly string[]): string {
  const together = new DecidedTogether("http")
  /** Where a check was no question, or one without an answer. */
  const problems: (string | undefined)[] = new Array(checks.length)
  try {
    for (let i = 0; i < checks.length; i++) {
      try {
        const question = questionOf(checks[i], places[i] as string)
        const decision = decideSync(core.engine, question)
        together.add(decision, isAboutKey(question) ? undefined : question, question.cost)
      } catch (error) {
        problems[i] = problemJson(error)
      }
    }
  } finally {
    together.tell(core.watch)
  }
  let json = ""
  let next = 0
  for (let i = 0; i < checks.length; i++) {
    if (i > 0) json += ","
    json += problems[i] ?? decisionJson((together.made[next++] as Decided).decision)
  }
  return json
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
