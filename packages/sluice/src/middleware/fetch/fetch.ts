// For everything made of `Request` and `Response`: Next, Workers, Bun, Deno, and servers of one's own.

import { checkType } from "../../options.js"
import { Gate } from "../core/admission.js"
import type { Ending, Passage, RequestDecision } from "../core/passage.js"
import type { RateLimitOptions } from "../core/rate-limit-options.js"
import { peerOf, rawHeadersOf } from "./fetch-peer.js"
import { fetchRequestReader } from "./fetch-request.js"
import {
  deniedResponse,
  goneResponse,
  notedHeaders,
  noteHeaders,
  settleAtAbort,
  withHeaders,
} from "./fetch-response.js"

export { type LimitFetchOptions, limitFetch, type OutgoingCall } from "../../outgoing/limit-fetch.js"
export type { RequestDecision } from "../core/passage.js"
export type { DecisionEvent, RateLimitOptions } from "../core/rate-limit-options.js"

export type FetchRateLimitOptions<R extends Request = Request> = RateLimitOptions<R> & {
  /**
   * The address of whoever is connected. Needed where the runtime does not tell it beside the request, as Deno, Bun and
   * @hono/node-server do: on Workers, `(request) => request.headers.get("cf-connecting-ip") ?? undefined`. Name a header
   * only if whoever stands in front of the application always sets it; else clients choose whom they are counted as.
   * `info` is what was given beside the request.
   */
  ip?: (request: R, info: unknown) => string | undefined
  /** Answers a denied request instead; the headers are added to it. */
  onDenied?: (request: R, decision: RequestDecision) => Response | Promise<Response>
}

/** A request that was put through a limit, with what was decided about it. */
export type LimitedRequest<R extends Request = Request> = R & { rateLimit?: RequestDecision }

/** What a limit says about one request. */
export interface FetchPassage {
  /** Undefined for a request that was let through unseen. */
  readonly decision: RequestDecision | undefined
  /** The answer to a request that is not to go on: denied, or its client went away while it was held. */
  readonly response: Response | undefined
  /** Adds the headers to the application's answer and settles with its status. Return what it returns: it may be a copy. */
  readonly apply: (response: Response) => Response
  /**
   * How the request ended, for `skipFailedRequests` and `skipSuccessfulRequests`, where `apply` is not called: the
   * handler threw, say. Only the first call counts.
   */
  readonly settle: (ending: Ending) => void
}

/**
 * A function of a request. Most applications use `withRateLimit`, which does all of this:
 *
 *     const { response, apply } = await limit(request, info)
 *     if (response !== undefined) return response
 *     return apply(await answer(request))
 */
export function rateLimit<R extends Request = Request>(
  options: FetchRateLimitOptions<R>,
): (request: R, info?: unknown) => Promise<FetchPassage> {
  const ip: unknown = options?.ip
  const onDenied = options?.onDenied
  checkType(ip, "rateLimit.ip", "a function", isFunction)
  checkType(onDenied, "rateLimit.onDenied", "a function", isFunction)
  const infos = new WeakMap<R, unknown>()
  const readPeer = options?.ip ?? peerOf
  const reader = fetchRequestReader<R>(
    (request) => readPeer(request, infos.get(request)),
    (request) => rawHeadersOf(infos.get(request)),
  )
  const gate = new Gate<R>(options, reader, ["ip", "onDenied"])

  async function denied(passage: Passage<R>): Promise<Response> {
    const { request, decision, headers } = passage
    if (onDenied !== undefined) return withHeaders(await onDenied(request, decision), headers)
    const answer = passage.denied
    return answer === undefined ? goneResponse() : deniedResponse(answer, headers)
  }

  return async (request, info) => {
    if (info !== undefined) infos.set(request, info)
    const passage = await gate.pass(request)
    if (passage === undefined) return UNSEEN
    const { decision, headers } = passage
    ;(request as LimitedRequest<R>).rateLimit = decision
    noteHeaders(request, headers)
    if (!passage.allowed) return ended(decision, await denied(passage))
    if (passage.delayMs > 0 && !(await passage.hold(request.signal))) return ended(decision, goneResponse())
    const stopListening = passage.mustSettle ? settleAtAbort(passage, request.signal) : undefined
    const settle = (ending: Ending, headers?: Headers): void => {
      stopListening?.()
      passage.settle(ending, headers)
    }
    return {
      decision,
      response: undefined,
      apply(response) {
        settle(response.status, response.headers)
        return withHeaders(response, notedHeaders(request))
      },
      settle,
    }
  }
}

/**
 * The handler behind a limit, with the same arguments as before: `export const GET = withRateLimit(handler, { limit: 100,
 * window: "1m" })`. The decision is in `request.rateLimit`.
 */
export function withRateLimit<R extends Request, Rest extends unknown[]>(
  handler: (request: LimitedRequest<R>, ...rest: Rest) => Response | Promise<Response>,
  options: FetchRateLimitOptions<R>,
): (request: R, ...rest: Rest) => Promise<Response> {
  checkType(handler ?? null, "withRateLimit.handler", "a function", isFunction)
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

const UNSEEN: FetchPassage = {
  decision: undefined,
  response: undefined,
  apply: (response) => response,
  settle() {},
}

function ended(decision: RequestDecision, response: Response): FetchPassage {
  return { decision, response, apply: (other) => other, settle() {} }
}

function isFunction(value: unknown): boolean {
  return typeof value === "function"
}
