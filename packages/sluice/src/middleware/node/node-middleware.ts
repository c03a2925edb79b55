// A middleware of the form `(request, response, next)`, for plain Node, connect and express.

import type { IncomingMessage, ServerResponse } from "node:http"
import type { Admission } from "../core/admission.js"
import type { DeniedAnswer } from "../core/denied-answer.js"
import type { RequestDecision } from "../core/rate-limit-options.js"
import type { RequestLimiter } from "../core/request-limiter.js"
import { delayResponse, settleOnClose } from "./node-http.js"

export type Next = (error?: unknown) => void

/** The application's own response to a denied request. The headers are already set, the status is not. */
export type OnDenied<Request, Response> = (
  request: Request,
  response: Response,
  decision: RequestDecision,
  next: Next,
) => unknown

/** A request with decisions under the names of `requestProperty`. */
export type WithDecision = Record<string, unknown>

/** What the middleware adds to a request. */
export interface WithRateLimit {
  rateLimit?: RequestDecision
}

export function nodeMiddleware<Request extends IncomingMessage, Response extends ServerResponse>(
  limiter: RequestLimiter<Request>,
  onDenied: OnDenied<Request, Response> | undefined,
): (request: Request, response: Response, next: Next) => void {
  function proceed(admission: Admission<Request> | undefined, response: Response, next: Next): void {
    if (admission === undefined) {
      next()
      return
    }
    ;(admission.request as unknown as WithDecision)[limiter.property] = admission.decision
    writeHeaders(admission.headers, response)
    if (!admission.allowed) deny(admission, response, next)
    else if (admission.delayMs > 0) delayThenNext(admission, response, next)
    else {
      if (admission.mustSettle) settleOnClose(admission, response)
      next()
    }
  }

  function deny(admission: Admission<Request>, response: Response, next: Next): void {
    try {
      if (onDenied === undefined) writeDenied(admission.denied as DeniedAnswer, response)
      else Promise.resolve(onDenied(admission.request, response, admission.decision, next)).catch(next)
    } catch (error) {
      next(error)
    }
  }

  return (request, response, next) => {
    let admission: ReturnType<RequestLimiter<Request>["admit"]>
    try {
      admission = limiter.admit(request)
    } catch (error) {
      next(error)
      return
    }
    if (admission instanceof Promise) {
      admission.then((admitted) => proceed(admitted, response, next)).catch(next)
    } else proceed(admission, response, next)
  }
}

function writeHeaders(headers: readonly string[], response: ServerResponse): void {
  // Another middleware may have responded while the store was asked.
  if (response.headersSent) return
  for (let i = 0; i < headers.length; i += 2) {
    response.setHeader(headers[i] as string, headers[i + 1] as string)
  }
}

function writeDenied(answer: DeniedAnswer, response: ServerResponse): void {
  if (response.headersSent) return
  response.statusCode = answer.status
  response.setHeader("content-type", answer.contentType)
  response.setHeader("content-length", Buffer.byteLength(answer.body))
  response.end(answer.body)
}

function delayThenNext<Request>(admission: Admission<Request>, response: ServerResponse, next: Next): void {
  delayResponse(admission, response)
    .then((isDue) => {
      if (!isDue) return
      if (admission.mustSettle) settleOnClose(admission, response)
      next()
    })
    .catch(next)
}
