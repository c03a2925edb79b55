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

/** Whole seconds are rounded up, so that a client that waits that long gets through. */
function limitHeaders(decision: Decision): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    "x-ratelimit-limit": decision.limit,
    "x-ratelimit-remaining": decision.remaining,
    "x-ratelimit-reset": Math.ceil(decision.resetAt / 1000),
  }
  // A cost that can never fit has no time to try again.
  if (!decision.allowed && Number.isFinite(decision.retryAfterMs)) {
    headers["retry-after"] = String(Math.ceil(decision.retryAfterMs / 1000))
  }
  return headers
}
