// The gateway's own answers: what a client is told when no upstream answers its request. Upstream details are never disclosed.

import { type DeniedAnswer, PROBLEM_CONTENT_TYPE, problemBody, problemOf } from "sluice/http"
import { InvalidMessage } from "../../http1/fields.js"
import type { Refusal } from "../upstream/pool.js"

const problems = {
  REQUEST_INVALID: [400, "The request is not one that can be read in one way only."],
  PATH_INVALID: [400, "The path cannot be read in one way only."],
  ROUTE_UNKNOWN: [404, "Nothing is served here."],
  METHOD_NOT_ALLOWED: [405, "The gateway opens no tunnels."],
  REQUEST_TIMEOUT: [408, "The request did not arrive in time."],
  EXPECTATION_FAILED: [417, "The request expects something other than 100-continue."],
  HEAD_TOO_LARGE: [431, "The head of the request is too large."],
  INTERNAL: [500, "Something went wrong in the gateway. Its log says more."],
  ENCODING_UNSUPPORTED: [501, "The request has a transfer encoding other than chunked."],
  UPSTREAM_UNREACHABLE: [502, "The upstream cannot be reached."],
  UPSTREAM_BROKEN: [502, "The upstream hung up before it answered."],
  UPSTREAM_INVALID: [502, "The upstream gave an answer that is not valid HTTP."],
  UPSTREAM_UNAVAILABLE: [503, "No upstream is fit to answer now."],
  UPSTREAM_BUSY: [503, "Too many requests wait for the upstream."],
  UPGRADES_FULL: [503, "Too many upgraded connections are open."],
  UPSTREAM_TIMEOUT: [504, "The upstream did not answer in time."],
  GATEWAY_LOOP: [508, "The request has come through this gateway too often."],
} as const satisfies Record<string, readonly [number, string]>

export type GatewayProblem = keyof typeof problems

/** The answer that tells a client of a problem. */
export function problemAnswer(code: GatewayProblem): DeniedAnswer {
  const [status, detail] = problems[code]
  return { status, contentType: PROBLEM_CONTENT_TYPE, body: problemBody(problemOf(status, code, detail)) }
}

/** The answer to bytes that are not a valid request, which are refused with this status. */
export function refusalAnswer(status: number): DeniedAnswer {
  return problemAnswer(refusalProblems[status] ?? "REQUEST_INVALID")
}

const refusalProblems: Readonly<Record<number, GatewayProblem>> = {
  408: "REQUEST_TIMEOUT",
  431: "HEAD_TOO_LARGE",
  501: "ENCODING_UNSUPPORTED",
}

/** Reports why an upstream gave no answer, for the log. Clients are told less. */
export type OnUpstreamFailure = (failure: {
  readonly origin: string
  readonly problem: GatewayProblem
  readonly error: Error
}) => void

/** What a client is told when a pool gives no connection. */
export const refusals: Readonly<Record<Refusal, GatewayProblem>> = {
  unreachable: "UPSTREAM_UNREACHABLE",
  timeout: "UPSTREAM_TIMEOUT",
  full: "UPSTREAM_BUSY",
}

/** What a client is told of a connection to an upstream that failed before its answer was complete. */
export function failureOf(error: Error): GatewayProblem {
  return error instanceof InvalidMessage ? "UPSTREAM_INVALID" : "UPSTREAM_BROKEN"
}
