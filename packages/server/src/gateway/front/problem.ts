// What a client is told when the gateway cannot have its request answered. Says nothing of what stands behind it.

import { type Problem, problemOf } from "sluice/http"

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

export function gatewayProblem(code: GatewayProblem): Problem {
  const [status, detail] = problems[code]
  return problemOf(status, code, detail)
}
