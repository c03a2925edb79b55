// Whole answers of the check API, before they are written.

import { type ErrorCode, SluiceError } from "sluice"
import { errorProblem, PROBLEM_CONTENT_TYPE, type Problem, problemBody, problemOf } from "sluice/http"
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

/** The statuses of errors. Every other code is a mistake of the caller: 400. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  TOKEN_REQUIRED: 401,
  ORIGIN_REFUSED: 403,
  PROXY_UNTRUSTED: 403,
  PATH_UNKNOWN: 404,
  RESERVATION_UNKNOWN: 404,
  METHOD_NOT_ALLOWED: 405,
  RESERVATION_EXPIRED: 410,
  BODY_TOO_LARGE: 413,
  BATCH_TOO_LARGE: 413,
  STORE_UNAVAILABLE: 503,
}

/** The problem details for a request that failed. */
export function requestProblem(error: unknown): Problem {
  if (error instanceof SluiceError) return errorProblem(error, STATUSES[error.code])
  return problemOf(500, "INTERNAL", "Something went wrong in the server. Its log says more.")
}
