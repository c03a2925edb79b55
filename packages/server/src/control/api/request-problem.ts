// The problem document for a request that cannot be answered.

import { type ErrorCode, SluiceError } from "sluice"
import { errorProblem, type Problem, problemOf } from "sluice/http"
import { type RuleProblem, RuleSetError } from "sluice/rules"
import { TooManyFailures } from "./access.js"
import { MethodNotAllowed } from "./route.js"

/** Every other code is a mistake in the request: 400. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  TOKEN_REQUIRED: 401,
  ROLE_REQUIRED: 403,
  ORIGIN_REFUSED: 403,
  PATH_UNKNOWN: 404,
  RULE_UNKNOWN: 404,
  RULES_REVISION_UNKNOWN: 404,
  ENTRY_UNKNOWN: 404,
  METHOD_NOT_ALLOWED: 405,
  RULE_DUPLICATE: 409,
  RULES_CONFLICT: 412,
  BODY_TOO_LARGE: 413,
  REPLAY_TOO_MUCH: 413,
  BODY_TYPE_UNSUPPORTED: 415,
  RULES_INVALID: 422,
  IF_MATCH_REQUIRED: 428,
  LOGIN_LIMITED: 429,
  RULES_IO: 500,
  AUDIT_IO: 500,
  RULES_UNAVAILABLE: 503,
  EVENTS_FULL: 503,
  BLOCKS_UNKNOWN: 503,
  EVENTS_CLOSED: 503,
  REPLAY_BUSY: 503,
  RULES_BUSY: 503,
}

/** The service is busy: the client should try again later. */
export const FULL: readonly string[] = ["EVENTS_FULL", "EVENTS_CLOSED", "REPLAY_BUSY", "RULES_BUSY"]

interface RulesProblem extends Problem {
  readonly problems: readonly RuleProblem[]
}

export function requestProblem(error: unknown): Problem | RulesProblem {
  if (!(error instanceof SluiceError))
    return problemOf(500, "INTERNAL", "Something went wrong in the server. Its log says more.")
  const problem = errorProblem(error, STATUSES[error.code])
  return error instanceof RuleSetError ? { ...problem, problems: error.problems } : problem
}

/** Headers that go with a problem. */
export function problemHeaders(error: unknown, etag: string): Record<string, string> {
  if (error instanceof MethodNotAllowed) return { allow: error.allow }
  if (error instanceof TooManyFailures) return { "retry-after": String(error.retryAfterSeconds) }
  if (!(error instanceof SluiceError)) return {}
  if (error.code === "TOKEN_REQUIRED") return { "www-authenticate": 'Bearer realm="sluice"' }
  if (FULL.includes(error.code) && error.code !== "EVENTS_CLOSED") return { "retry-after": "10" }
  // With the current etag, the client can make its edit again.
  return error.code === "RULES_CONFLICT" || error.code === "IF_MATCH_REQUIRED" ? { etag } : {}
}
