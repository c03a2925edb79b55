// Whole answers of the check API, before they are written.

import { PROBLEM_CONTENT_TYPE, type Problem, problemBody } from "sluice/http"
import { headerList } from "sluice/internal"
import type { RuleDecision } from "sluice/rules"

/** Headers as a list: name, value, name, value. */
export type HeaderList = string[]

/** Returns the headers of a decision as a new list, in the style of its rule; empty when no limit applies. */
export function decisionHeaders(decision: RuleDecision): HeaderList {
  const { policies, headers } = decision
  return policies.length === 0 || headers === "none" ? [] : headerList(headers, policies, decision)
}

export interface Answer {
  readonly status: number
  /** The content type. */
  readonly type: string
  readonly body: string
  /** Besides those about the body. */
  readonly headers: readonly string[]
}

export function jsonAnswer(json: string, status = 200): Answer {
  return { status, type: "application/json", body: json, headers: [] }
}

export function problemAnswer(problem: Problem, headers: readonly string[] = []): Answer {
  return { status: problem.status, type: PROBLEM_CONTENT_TYPE, body: problemBody(problem), headers }
}
