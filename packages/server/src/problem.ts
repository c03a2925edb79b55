import type { OutgoingHttpHeaders } from "node:http"
import { SluiceError } from "sluice"

/** The server's own problem codes. The limiter's error codes join them with status 400. */
const problems = {
  BODY_INVALID_JSON: { status: 400, title: "The body is not JSON" },
  BODY_NOT_OBJECT: { status: 400, title: "The body is not a JSON object" },
  BODY_UNKNOWN_FIELD: { status: 400, title: "The body has a field that does not exist" },
  PATH_UNKNOWN: { status: 404, title: "There is nothing at this path" },
  METHOD_NOT_ALLOWED: { status: 405, title: "This path does not take this method" },
  BODY_TOO_LARGE: { status: 413, title: "The body is too large" },
  INTERNAL: { status: 500, title: "Something went wrong in the server" },
} as const

/** A request that cannot be answered with a decision. */
export class RequestError extends Error {
  override readonly name = "RequestError"
  readonly code: keyof typeof problems
  readonly headers: OutgoingHttpHeaders

  constructor(code: keyof typeof problems, detail: string, headers: OutgoingHttpHeaders = {}) {
    super(detail)
    this.code = code
    this.headers = headers
  }
}

/** The body of an `application/problem+json` answer (RFC 9457). `code` is for programs, `detail` for people. */
export interface Problem {
  readonly type: "about:blank"
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
}

export function toProblem(error: unknown): Problem {
  if (error instanceof RequestError) {
    return { type: "about:blank", ...problems[error.code], code: error.code, detail: error.message }
  }
  if (error instanceof SluiceError) {
    return {
      type: "about:blank",
      title: "The check is not valid",
      status: 400,
      code: error.code,
      detail: error.message,
    }
  }
  return { type: "about:blank", ...problems.INTERNAL, code: "INTERNAL", detail: "the server's log says more" }
}
