import type { IncomingMessage, OutgoingHttpHeaders } from "node:http"
import type { CheckOptions, Decision, Limiter } from "sluice"
import { readJsonObject } from "./json-body.js"

export interface Answer {
  readonly status: number
  readonly headers?: OutgoingHttpHeaders
  readonly body: unknown
}

/** `POST /v1/check`: decides about one key and charges it. 200 means go ahead, 429 means not now. */
export async function check(limiter: Limiter, request: IncomingMessage): Promise<Answer> {
  const { key, cost } = await readJsonObject(request, ["key", "cost"])
  // The limiter says what is wrong with a key or a cost better than a second set of rules here could.
  const options = (cost === undefined ? {} : { cost }) as CheckOptions
  const decision = await limiter.check(key as string, options)
  return { status: decision.allowed ? 200 : 429, headers: limitHeaders(decision), body: decision }
}

/**
 * Whole seconds are rounded up, so that a client that waits that long gets through. With several limits the three numbers
 * are those of the one with the least remaining: the decision itself resets only when all of them have.
 */
function limitHeaders(decision: Decision): OutgoingHttpHeaders {
  const { limit, remaining, resetAt } =
    decision.limits?.find((entry) => entry.remaining === decision.remaining) ?? decision
  const headers: OutgoingHttpHeaders = {
    "x-ratelimit-limit": limit,
    "x-ratelimit-remaining": remaining,
    "x-ratelimit-reset": Math.ceil(resetAt / 1000),
  }
  // A cost that can never fit has no time to try again.
  if (!decision.allowed && Number.isFinite(decision.retryAfterMs)) {
    headers["retry-after"] = String(Math.ceil(decision.retryAfterMs / 1000))
  }
  return headers
}
