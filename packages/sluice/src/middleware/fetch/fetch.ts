// For handlers from `Request` to `Response`: Next, Workers, Bun, Deno, and your own servers.

import { checkFunction } from "../../options.js"
import type { Admission, Ending } from "../core/admission.js"
import type { RateLimitOptions, RequestDecision } from "../core/rate-limit-options.js"
import { RequestLimiter } from "../core/request-limiter.js"
import { fetchRequestReader } from "./fetch-request.js"
import {
  deniedResponse,
  goneResponse,
  rememberedHeaders,
  rememberHeaders,
  settleAfterBody,
  settleOnAbort,
  withHeaders,
} from "./fetch-response.js"

export type { CallCost } from "../../outgoing/call-cost.js"
export { type LimitFetchOptions, limitFetch, type OutgoingCall } from "../../outgoing/limit-fetch.js"
export type { DecisionEvent, RateLimitOptions, RequestDecision } from "../core/rate-limit-options.js"

export type FetchRateLimitOptions<R extends Request = Request> = RateLimitOptions<R> & {
  /**
   * Returns the client's address. Deno, Bun and @hono/node-server pass it beside the request, and the middleware knows the
   * headers of Cloudflare Workers and Vercel; other platforms need this option. Use a header only if the proxy in front of the
   * application always sets it: otherwise clients choose their own address. `info` is what was passed beside the request.
   */
  ip?: (request: R, info: unknown) => string | undefined
  /** Returns the response to a denied request. The rate limit headers are added to it. */
  onDenied?: (request: R, decision: RequestDecision) => Response | Promise<Response>
}

/** A request with the decision about it. */
export type LimitedRequest<R extends Request = Request> = R & { rateLimit?: RequestDecision }

/** The result of the limit for one request. */
export interface FetchAdmission {
  /** Undefined for a request that is not limited. */
  readonly decision: RequestDecision | undefined
  /** The response to a request that was denied, or whose client left while it was delayed. Undefined: handle the request. */
  readonly response: Response | undefined
  /** Adds the headers to the application's response and settles with its status. Send what it returns: it may be a copy. */
  readonly apply: (response: Response) => Response
  /**
   * Reports how the request ended when `apply` is not called, for example because the handler threw. It is for
   * `skipFailedRequests` and `skipSuccessfulRequests`. Only the first call counts.
   */
  readonly settle: (ending: Ending) => void
}

/**
 * Returns a function that limits requests. Most applications use `withRateLimit`, which does all of this:
 *
 *     const { response, apply } = await limit(request, info)
 *     if (response !== undefined) return response
 *     return apply(await answer(request))
 */
export function rateLimit<R extends Request = Request>(
  options: FetchRateLimitOptions<R>,
): (request: R, info?: unknown) => Promise<FetchAdmission> {
  const onDenied = options?.onDenied
  const infos = new WeakMap<R, unknown>()
  const reader = fetchRequestReader<R>((request) => infos.get(request), options?.ip)
  const limiter = new RequestLimiter<R>(options, reader, ["ip", "onDenied"])

  async function denied(admission: Admission<R>, headers: readonly string[]): Promise<Response> {
    const { request, decision } = admission
    if (onDenied !== undefined) return withHeaders(await onDenied(request, decision), headers)
    const answer = admission.denied
    return answer === undefined ? goneResponse() : deniedResponse(answer, headers)
  }

  return async (request, info) => {
    if (info !== undefined) infos.set(request, info)
    const admission = await limiter.admit(request)
    if (admission === undefined) return NOT_LIMITED
    const { decision } = admission
    ;(request as unknown as Record<string, unknown>)[limiter.property] = decision
    const headers = rememberHeaders(request, admission.headers)
    if (!admission.allowed) return ended(decision, await denied(admission, headers))
    if (admission.delayMs > 0 && !(await admission.delay(request.signal)))
      return ended(decision, goneResponse())
    const stopListening = admission.mustSettle ? settleOnAbort(admission, request.signal) : undefined
    const settle = (ending: Ending, headers?: Headers): void => {
      stopListening?.()
      admission.settle(ending, headers)
    }
    const own = () => rememberedHeaders(request)
    return {
      decision,
      response: undefined,
      apply(response) {
        if (admission.holds) return withHeaders(settleAfterBody(response, request.method, settle), own())
        settle(response.status, response.headers)
        return withHeaders(response, own())
      },
      settle,
    }
  }
}

/**
 * Limits a handler, which keeps its arguments: `export const GET = withRateLimit(handler, { limit: 100, window: "1m" })`.
 * The decision is in `request.rateLimit`.
 */
export function withRateLimit<R extends Request, Rest extends unknown[]>(
  handler: (request: LimitedRequest<R>, ...rest: Rest) => Response | Promise<Response>,
  options: FetchRateLimitOptions<R>,
): (request: R, ...rest: Rest) => Promise<Response> {
  checkFunction(handler ?? null, "withRateLimit.handler")
  const limit = rateLimit(options)
  return async (request, ...rest) => {
    const { response, apply, settle } = await limit(request, rest[0])
    if (response !== undefined) return response
    try {
      return apply(await handler(request, ...rest))
    } catch (error) {
      settle("error")
      throw error
    }
  }
}

const NOT_LIMITED: FetchAdmission = {
  decision: undefined,
  response: undefined,
  apply: (response) => response,
  settle() {},
}

function ended(decision: RequestDecision, response: Response): FetchAdmission {
  return { decision, response, apply: (other) => other, settle() {} }
}
