// The problem details for a request that failed.

import { type ErrorCode, SluiceError } from "sluice"
import { errorProblem, type Problem, problemOf } from "sluice/http"

/** All other codes are mistakes of the caller: 400. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  TOKEN_REQUIRED: 401,
  ORIGIN_REFUSED: 403,
  PROXY_UNTRUSTED: 403,
  PATH_UNKNOWN: 404,
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  BATCH_TOO_LARGE: 413,
}

export function requestProblem(error: unknown): Problem {
  if (error instanceof SluiceError) return errorProblem(error, STATUSES[error.code])
  return problemOf(500, "INTERNAL", "Something went wrong in the server. Its log says more.")
}
