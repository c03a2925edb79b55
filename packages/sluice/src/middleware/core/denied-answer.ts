import type { DeniedAnswer, RequestDecision } from "./passage.js"
import { denialBody, PROBLEM_CONTENT_TYPE, problemBody, problemOf } from "./problem.js"
import type { AnyRateLimitOptions, DeniedBody } from "./rate-limit-options.js"

/** What a denied request is answered: by the middleware's options, else as its rule says, else a problem. */
export function deniedAnswer<Request>(
  options: AnyRateLimitOptions<Request>,
  request: Request,
  decision: RequestDecision,
): DeniedAnswer {
  if (decision.ambiguous !== undefined) return ambiguousKey(decision.ambiguous)
  const rule = "reason" in decision ? decision : undefined
  if (rule?.reason === "bad-path") return badPath
  const response = rule?.response
  const status = options.status ?? response?.status ?? 429
  const { body } = options
  const text = (typeof body === "function" ? body(request, decision) : body) ?? response?.body
  if (text !== undefined) return answerWith(text, status, options.contentType ?? response?.contentType)
  const { body: problem, bytes } = denialBody(decision, { status, rule: rule?.rule })
  return { status, body: problem, bytes, contentType: PROBLEM_CONTENT_TYPE }
}

function answerWith(body: DeniedBody, status: number, contentType: string | undefined): DeniedAnswer {
  return typeof body === "string"
    ? { status, body, contentType: contentType ?? "text/plain; charset=utf-8" }
    : { status, body: JSON.stringify(body), contentType: contentType ?? "application/json; charset=utf-8" }
}

/** Whoever a request counts for, the application may take it for another that it also names. */
function ambiguousKey(ambiguous: string): DeniedAnswer {
  const detail = `The request does not say clearly whom it counts for: ${ambiguous}.`
  return {
    status: 400,
    body: problemBody(problemOf(400, "KEY_AMBIGUOUS", detail)),
    contentType: PROBLEM_CONTENT_TYPE,
  }
}

/** Nobody knows which rules such a path would meet, and the application may read it in yet another way. */
const badPath: DeniedAnswer = {
  status: 400,
  body: /* @__PURE__ */ problemBody(
    /* @__PURE__ */ problemOf(400, "PATH_INVALID", "The path cannot be read in one way only."),
  ),
  contentType: PROBLEM_CONTENT_TYPE,
}
