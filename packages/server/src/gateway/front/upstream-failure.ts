// Why an upstream gave no answer: what the client is told of it, and what the log is.

import { InvalidAnswer } from "../upstream/answer-head.js"
import type { Refusal } from "../upstream/pool.js"
import type { GatewayProblem } from "./problem.js"

/** Told for the log why an upstream gave no answer; clients are told less. */
export type OnUpstreamFailure = (failure: {
  readonly origin: string
  readonly problem: GatewayProblem
  readonly error: Error
}) => void

export const refusals: Readonly<Record<Refusal, GatewayProblem>> = {
  unreachable: "UPSTREAM_UNREACHABLE",
  timeout: "UPSTREAM_TIMEOUT",
  full: "UPSTREAM_BUSY",
}

/** What became of a connection on which an answer was awaited. */
export function problemOf(error: Error): GatewayProblem {
  return error instanceof InvalidAnswer ? "UPSTREAM_INVALID" : "UPSTREAM_BROKEN"
}
