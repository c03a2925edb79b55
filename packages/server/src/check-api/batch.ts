import { SluiceError } from "sluice"
import { problemBody } from "sluice/http"
import type { Core } from "../core.js"
import { DecidedTogether } from "../decided-together.js"
import { jsonAnswer } from "../http/answer.js"
import { requestProblem } from "../http/request-problem.js"
import { decisionJson, writeDecision } from "./decision-json.js"
import { JsonBytes } from "./json-bytes.js"
import type { BodyRoute } from "./plane.js"
import { noParameters } from "./query.js"
import { decide, decideSync, isAboutKey, type Question, readQuestion } from "./question.js"

/** Checks decided before they are written: their decisions stay in the cache nearest to the processor. */
const FEW = 16

const HEAD = Buffer.from('{"results":[')
const COMMA = Buffer.from(",")
const END = Buffer.from("]}")

/**
 * `POST /v1/check/batch`: many questions in one, answered in their order. Each is all-or-nothing by itself, and a mistake in
 * one is a problem in its place and spoils none of the others.
 */
export function batchRoute(core: Core, most: number): BodyRoute {
  /** What is said of a mistake in each place, as far as there were batches so long. */
  const places: string[] = []
  const together = new DecidedTogether(core.watch, "http")
  const json = new JsonBytes()
  return (query, body) => {
    noParameters(query)
    const checks = readChecks(body, most)
    while (places.length < checks.length) places.push(`checks[${places.length}]`)
    if (core.engine.isSync) {
      json.clear()
      json.raw(HEAD)
      writeResults(json, core, checks, places, together)
      json.raw(END)
      return jsonAnswer(json.written())
    }
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

/** Without promises: a few are decided, those who watch are told of them, and they are written; then the next few. */
function writeResults(
  json: JsonBytes,
  { engine }: Core,
  checks: readonly unknown[],
  places: readonly string[],
  together: DecidedTogether,
): void {
  for (let start = 0; start < checks.length; start += FEW) {
    const end = Math.min(start + FEW, checks.length)
    /** Where a check was no question, or one without an answer. */
    let problems: Map<number, string> | undefined
    together.start()
    try {
      for (let i = start; i < end; i++) {
        try {
          const question = questionOf(checks[i], places[i] as string)
          const decision = decideSync(engine, question)
          together.add(decision, isAboutKey(question) ? undefined : question, question.cost)
        } catch (error) {
          problems ??= new Map()
          problems.set(i, problemJson(error))
        }
      }
    } finally {
      together.tell()
    }
    let next = 0
    for (let i = start; i < end; i++) {
      if (i > 0) json.raw(COMMA)
      const problem = problems?.get(i)
      if (problem === undefined) writeDecision(json, together.decision(next++))
      else json.text(problem)
    }
  }
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
