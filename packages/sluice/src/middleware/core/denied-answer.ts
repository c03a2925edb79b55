import { denialProblem, PROBLEM_CONTENT_TYPE, problemBody, problemOf } from "./problem.js"
import type { DeniedBody, RequestDecision } from "./rate-limit-options.js"

/** A complete response to a denied request. */
export interface DeniedAnswer {
  readonly status: number
  readonly body: string
  readonly contentType: string
}

/** What the options say about the response to a denied request. */
export interface DeniedOptions {
  readonly status?: number | undefined
  readonly body?: DeniedBody | undefined
  readonly contentType?: string | undefined
}

/** Builds the response to a denied request: from the options, else from the rule that denied, else a problem. */
export function deniedAnswer(options: DeniedOptions, decision: RequestDecision): DeniedAnswer {
  if (decision.ambiguous !== undefined) return ambiguousKey(decision.ambiguous)
  const rule = "reason" in decision ? decision : undefined
  if (rule?.reason === "bad-path") return badPath
  const response = rule?.response
  const status = options.status ?? response?.status ?? 429
  const text = options.body ?? response?.body
  if (text !== undefined) return answerWith(text, status, options.contentType ?? response?.contentType)
  const problem = denialProblem(decision, { status, rule: rule?.rule })
  return { status, body: problemBody(problem), contentType: PROBLEM_CONTENT_TYPE }
}

function answerWith(body: DeniedBody, status: number, contentType: string | undefined): DeniedAnswer {
  return typeof body === "string"
    ? { status, body, contentType: contentType ?? "text/plain; charset=utf-8" }
    : { status, body: JSON.stringify(body), contentType: contentType ?? "application/json; charset=utf-8" }
}

/** For a request that names its key twice. The application may read a different one than the limiter. */
function ambiguousKey(ambiguous: string): DeniedAnswer {
  const detail = `The request does not say clearly whom it counts for: ${ambiguous}.`
  return {
    status: 400,
    body: problemBody(problemOf(400, "KEY_AMBIGUOUS", detail)),
    contentType: PROBLEM_CONTENT_TYPE,
  }
}

/** For a path that rules and the application may read differently, and which therefore may match other rules. */
const badPath: DeniedAnswer = {
  status: 400,
  body: /* @__PURE__ */ problemBody(
    /* @__PURE__ */ problemOf(400, "PATH_INVALID", "The path cannot be read in one way only."),
  ),
  contentType: PROBLEM_CONTENT_TYPE,
}
