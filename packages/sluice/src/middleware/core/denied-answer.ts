import { filledBody } from "../../rules/language/response-body.js"
import type { ResponseSpec } from "../../rules/language/schema.js"
import { denialProblem, PROBLEM_CONTENT_TYPE, problemBody, problemOf, secondsOf } from "./problem.js"
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
  const contentType = options.contentType ?? response?.contentType
  if (options.body !== undefined) return answerWith(options.body, status, contentType)
  if (response?.body !== undefined) return answerOfRule(response.body, status, contentType, decision)
  const problem = denialProblem(decision, { status, rule: rule?.rule })
  return { status, body: problemBody(problem), contentType: PROBLEM_CONTENT_TYPE }
}

const TEXT = "text/plain; charset=utf-8"
const JSON_TEXT = "application/json; charset=utf-8"

function answerWith(body: DeniedBody, status: number, contentType: string | undefined): DeniedAnswer {
  return typeof body === "string"
    ? { status, body, contentType: contentType ?? TEXT }
    : { status, body: JSON.stringify(body), contentType: contentType ?? JSON_TEXT }
}

/** The answer with the body of a rule, which may contain placeholders. */
function answerOfRule(
  body: NonNullable<ResponseSpec["body"]>,
  status: number,
  contentType: string | undefined,
  decision: RequestDecision,
): DeniedAnswer {
  const { limit, remaining, retryAfterMs } = decision
  const values = {
    limit,
    remaining,
    retryAfter: retryAfterMs === Number.POSITIVE_INFINITY ? undefined : secondsOf(retryAfterMs),
    rule: ("rule" in decision ? decision.rule : undefined) ?? "",
  }
  const filled = filledBody(body, values, contentType)
  return { status, body: filled, contentType: contentType ?? (typeof body === "string" ? TEXT : JSON_TEXT) }
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
