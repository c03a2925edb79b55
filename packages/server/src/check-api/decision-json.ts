// A decision as JSON. Written as text because it is on the path of every answer: with JSON.stringify of an object a batch takes
// half as much processor time again.
//
// JSON has no infinity: a wait that never ends is "never", and a limit that does not exist is null. Waits and times are whole
// milliseconds, rounded up.

import type { LimitDecision } from "sluice"
import { decisionReplacer } from "sluice/internal"
import type { Explanation, RuleDecision, RuleOutcome } from "sluice/rules"

export function decisionJson(decision: RuleDecision): string {
  const { rules, limits, rule, limitName, deniedBy, ambiguous, degraded, tier, shadowDenied } = decision
  const only = rules.length === 1 && limits === undefined ? rules[0] : undefined
  let json = `${firstFive(decision)},"used":${decision.used},"windowMs":${decision.windowMs},"resetAt":${millis(decision.resetAt)},"delayMs":${millis(decision.delayMs)},"reason":"${decision.reason}"`
  if (rule !== undefined) json += `,"rule":${quoted(rule)}`
  if (limitName !== undefined) json += `,"limitName":${quoted(limitName)}`
  // For one limit of one rule, all that is not said above is the key.
  if (only !== undefined && only.mode === "enforce" && only.descriptor === undefined)
    json += `,"key":${quoted(only.key)}`
  else if (rules.length > 0) json += `,"rules":[${rules.map(outcomeJson).join(",")}]`
  if (deniedBy !== undefined) json += `,"deniedBy":${quoted(deniedBy)}`
  if (ambiguous !== undefined) json += `,"ambiguous":${quoted(ambiguous)}`
  if (degraded !== undefined) json += `,"degraded":"${degraded}"`
  if (decision.source !== undefined) json += `,"source":"${decision.source}"`
  if (tier !== undefined) json += `,"tier":${quoted(tier)}`
  if (shadowDenied.length > 0) json += `,"shadowDenied":${JSON.stringify(shadowDenied)}`
  return `${json},"revision":${decision.revision}}`
}

/** The five fields that most callers use. */
export function smallDecisionJson(decision: RuleDecision): string {
  return `${firstFive(decision)}}`
}

function firstFive({ allowed, limit, remaining, retryAfterMs, resetAfterMs }: RuleDecision): string {
  return `{"allowed":${allowed},"limit":${amount(limit)},"remaining":${amount(remaining)},"retryAfterMs":${wait(retryAfterMs)},"resetAfterMs":${wait(resetAfterMs)}`
}

function outcomeJson({ rule, mode, candidate, descriptor, allowed, key, tier, limits }: RuleOutcome): string {
  let json = `{"rule":${quoted(rule)},"mode":"${mode}"`
  if (candidate === true) json += `,"candidate":true`
  if (descriptor !== undefined) json += `,"descriptor":${descriptor}`
  json += `,"allowed":${allowed},"key":${quoted(key)}`
  if (tier !== undefined) json += `,"tier":${quoted(tier)}`
  return `${json},"limits":[${limits.map(limitJson).join(",")}]}`
}

function limitJson(limit: LimitDecision): string {
  return `{"name":${quoted(limit.name)},"allowed":${limit.allowed},"limit":${amount(limit.limit)},"remaining":${amount(limit.remaining)},"retryAfterMs":${wait(limit.retryAfterMs)},"resetAfterMs":${wait(limit.resetAfterMs)},"used":${limit.used},"windowMs":${limit.windowMs},"resetAt":${millis(limit.resetAt)}}`
}

/** Text without quotes, backslashes, control characters or anything beyond ASCII: nearly every name and key. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/

function quoted(text: string): string {
  return PLAIN_TEXT.test(text) ? `"${text}"` : JSON.stringify(text)
}

function amount(value: number): number | null {
  return value === Number.POSITIVE_INFINITY ? null : value
}

function wait(ms: number): string | number {
  return ms === Number.POSITIVE_INFINITY ? '"never"' : millis(ms)
}

/** Whole milliseconds, rounded up so that waiting that long is enough. */
function millis(ms: number): number {
  return Math.ceil(ms)
}

export function explanationJson({ decision, ...explanation }: Explanation): string {
  const json = JSON.stringify(explanation, decisionReplacer)
  return `${json.slice(0, -1)},"decision":${decisionJson(decision)}}`
}
