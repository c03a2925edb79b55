// `POST /json`: ShouldRateLimit over HTTP, as in envoyproxy/ratelimit.

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import { denialProblem, type Problem } from "sluice/http"
import type { Core } from "../core.js"
import { isGone, sendJson, sendProblem } from "../http/answer.js"
import { parseObject, readBody } from "../http/body.js"
import { requestProblem } from "../http/request-problem.js"
import { jsonResponse, readJsonRequest } from "./json-messages.js"
import { OK, type RateLimitResponse } from "./rate-limit-response.js"
import { type ShouldRateLimitOptions, StoreUnavailableError, shouldRateLimit } from "./should-rate-limit.js"

export interface JsonHandlerOptions extends ShouldRateLimitOptions {
  /** Default: 256 KiB. */
  readonly maxBodyBytes?: number | undefined
  /** Called for every failure that is not the caller's mistake. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const EXAMPLE = '{"domain": "edge", "descriptors": [{"entries": [{"key": "path", "value": "/"}]}]}'

/** Answers 200 for OK and 429 for OVER_LIMIT. */
export function createJsonHandler(core: Core, options: JsonHandlerOptions = {}): RequestListener {
  const { maxBodyBytes = 262_144, onError = () => {} } = options
  const decide = shouldRateLimit(core, "json", options)

  const answer = (response: ServerResponse, { overallCode, ...rest }: RateLimitResponse): void =>
    sendJson(response, jsonResponse({ overallCode, ...rest }), overallCode === OK ? 200 : 429)

  const fail = (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    if (isGone(request, response)) return
    const problem = problemOf(error)
    if (problem.status === 500) onError(error)
    // Close the connection: the unread rest of the body would be parsed as the next request.
    sendProblem(response, problem, request.complete ? [] : ["connection", "close"])
  }

  return (request, response) => {
    const failed = (error: unknown): void => fail(request, response, error)
    const done = (body: Buffer): void => {
      try {
        const decided = decide(readJsonRequest(parseObject(body, EXAMPLE)))
        if (decided instanceof Promise) decided.then((made) => answer(response, made)).catch(failed)
        else answer(response, decided)
      } catch (error) {
        failed(error)
      }
    }
    readBody(request, maxBodyBytes, done, failed)
  }
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof StoreUnavailableError)) return requestProblem(error)
  const { decision } = error
  return denialProblem(decision, { status: 503, rule: decision.rule })
}
