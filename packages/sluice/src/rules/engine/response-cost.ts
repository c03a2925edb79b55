// What the answer to a request changes about its charge: a status that does not count gives it back, and a header may say
// what the request has cost after all.

import { type HeaderSource, headerOf } from "../../request/header-source.js"
import type { RuleSpec } from "../language/schema.js"
import { LARGEST_COST } from "./cost.js"
import type { Step } from "./plan.js"
import type { RuleOutcome } from "./rule-decision.js"

/** The answer to a request, as far as rules look at it. */
export interface AnsweredRequest {
  readonly status: number
  /** By lower-case name. */
  readonly headers?: HeaderSource | undefined
  /** Looked at where the headers do not say: who streams an answer knows its cost at the end. */
  readonly trailers?: HeaderSource | undefined
}

/** How a rule settles; a rule without one lets every charge stand. */
export interface Settlement {
  readonly refundOn: ReadonlySet<number>
  readonly header: string | undefined
  readonly max: number
}

/** One rule's charges that wait for the answer. */
export interface Unsettled {
  readonly step: Step
  readonly settlement: Settlement
  /** When each of its limits will have forgotten the charge, in milliseconds since 1970. */
  readonly forgottenAt: readonly number[]
}

export function compileSettlement({ cost, refundOn }: RuleSpec): Settlement | undefined {
  const { responseHeader, max = LARGEST_COST } = typeof cost === "object" ? cost : {}
  if (refundOn === undefined && responseHeader === undefined) return undefined
  const listed = Array.isArray(refundOn) ? refundOn : refundOn === undefined ? [] : [refundOn]
  return {
    refundOn: new Set([...new Set(listed)].flatMap(statuses)),
    header: responseHeader?.toLowerCase(),
    max,
  }
}

/** `404` is itself, `5xx` all of 500 to 599. */
function statuses(status: number | string): number[] {
  if (typeof status === "number") return [status]
  const first = Number(status[0]) * 100
  return Array.from({ length: 100 }, (_, i) => first + i)
}

/** Undefined where the answer cannot change anything: most rules do not look at it, and a free request stays free. */
export function unsettled(step: Step, { limits }: RuleOutcome): Unsettled | undefined {
  const { settlement } = step.rule
  if (settlement === undefined || step.cost === 0) return undefined
  return { step, settlement, forgottenAt: limits.map(({ resetAt }) => resetAt) }
}

/** What the request costs now that it is answered. */
export function settledCost({ step, settlement }: Unsettled, answer: AnsweredRequest): number {
  const { refundOn, header, max } = settlement
  if (refundOn.has(answer.status)) return 0
  if (header === undefined) return step.cost
  const said = headerOf(answer.headers, header) ?? headerOf(answer.trailers, header)
  // An answer that does not say it, or not in whole units, leaves the estimate.
  return said !== undefined && /^\d{1,15}$/.test(said) ? Math.min(Number(said), max) : step.cost
}
