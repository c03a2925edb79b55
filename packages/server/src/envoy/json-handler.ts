// `POST /json`: ShouldRateLimit over HTTP, as in envoyproxy/ratelimit.

import { denialProblem, type Problem } from "sluice/http"
import type { Core } from "../core.js"
import { type Answer, jsonAnswer, problemAnswer, requestProblem } from "../http/answer.js"
import { parseObject } from "../http/body.js"
import { jsonResponse, readJsonRequest } from "./json-messages.js"
import { OK, type RateLimitResponse } from "./rate-limit-response.js"
import { type ShouldRateLimitOptions, StoreUnavailableError, shouldRateLimit } from "./should-rate-limit.js"

export interface JsonHandlerOptions extends ShouldRateLimitOptions {
  /** Called for every failure that is not the caller's mistake. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const EXAMPLE = '{"domain": "edge", "descriptors": [{"entries": [{"key": "path", "value": "/"}]}]}'

/** Answers a body: 200 when the request is within its limits, 429 when it is over one. Never throws nor rejects. */
export function createJsonHandler(
  core: Core,
  options: JsonHandlerOptions = {},
): (body: Buffer) => Answer | Promise<Answer> {
  const { onError = () => {} } = options
  const decide = shouldRateLimit(core, "json", options)
  const answer = ({ overallCode, ...rest }: RateLimitResponse): Answer =>
    jsonAnswer(jsonResponse({ overallCode, ...rest }), overallCode === OK ? 200 : 429)
  const failed = (error: unknown): Answer => {
    const problem = problemOf(error)
    if (problem.status === 500) onError(error)
    return problemAnswer(problem)
  }
  return (body) => {
    try {
      const decided = decide(readJsonRequest(parseObject(body, EXAMPLE)))
      return decided instanceof Promise ? decided.then(answer).catch(failed) : answer(decided)
    } catch (error) {
      return failed(error)
    }
  }
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof StoreUnavailableError)) return requestProblem(error)
  const { decision } = error
  return denialProblem(decision, { status: 503, rule: decision.rule })
}
