// A decision as JSON. Written as text because it is on the path of every answer: with JSON.stringify of an object a batch takes
// half as much processor time again.
//
// JSON has no infinity. A wait that never ends is "never", and a limit that does not exist is null.

import { infinityToJson } from "sluice/internal"
import type { Explanation, RuleDecision, RuleLimit, RuleOutcome } from "sluice/rules"

export function decisionJson(decision: RuleDecision): string {
  const { rules, limits, rule, limitName, deniedBy, ambiguous, degraded, tier, shadowDenied } = decision
  const only = rules.length === 1 && limits === undefined ? rules[0] : undefined
  let json = `${firstFive(decision)},"resetAt":${millis(decision.resetAt)},"delayMs":${millis(decision.delayMs)},"reason":"${decision.reason}"`
  if (rule !== undefined) json += `,"rule":${quoted(rule)}`
  if (limitName !== undefined) json += `,"limitName":${quoted(limitName)}`
  // For one limit of one rule, all that is not said above is the key.
  if (only !== undefined && only.mode === "enforce" && only.descriptor === undefined)
    json += `,"key":${quoted(only.key)}`
  else if (rules.length > 0) json += `,"rules":[${rules.map(outcomeJson).join(",")}]`
  if (deniedBy !== undefined) json += `,"deniedBy":${quoted(deniedBy)}`
  if (ambiguous !== undefined) json += `,"ambiguous":${quoted(ambiguous)}`
  if (degraded !== undefined) json += `,"degraded":"${degraded}"`
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

function limitJson(limit: RuleLimit): string {
  return `{"name":${quoted(limit.name)},"allowed":${limit.allowed},"limit":${amount(limit.limit)},"remaining":${amount(limit.remaining)},"retryAfterMs":${wait(limit.retryAfterMs)},"resetAfterMs":${wait(limit.resetAfterMs)},"resetAt":${millis(limit.resetAt)},"windowMs":${limit.windowMs}}`
}

/** Text without quotes, backslashes, control characters or anything beyond ASCII: nearly every name and key. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/

function quoted(text: string): string {
  return PLAIN_TEXT.test(text) ? `"${text}"` : JSON.stringify(text)
}

function amount(value: number): number | null {
  return value === Number.POSITIVE_INFINITY ? null : value
}

function wait(ms: number): string {
  return ms === Number.POSITIVE_INFINITY ? '"never"' : millis(ms)
}

/** Above this, milliseconds have no room for exact decimals. */
const MAX_EXACT_MS = 2 ** 43

const THREE_DIGITS = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(3, "0"))

/**
 * Milliseconds, which are known to three decimals. Written from whole seconds and digits by threes: the shortest text of a
 * fraction, which the language would look for, takes longer than all the rest of a decision.
 */
function millis(ms: number): string {
  if (ms === 0) return "0"
  if (!(ms > 0 && ms < MAX_EXACT_MS)) return String(ms)
  const micros = Math.round(ms * 1_000)
  const seconds = Math.floor(micros / 1_000_000)
  const rest = micros - seconds * 1_000_000
  const thousandth = Math.floor(rest / 1_000)
  const decimals = rest - thousandth * 1_000
  const whole = seconds === 0 ? String(thousandth) : `${seconds}${THREE_DIGITS[thousandth]}`
  return decimals === 0 ? whole : `${whole}.${THREE_DIGITS[decimals]}`
}

export function explanationJson({ decision, ...explanation }: Explanation): string {
  const json = JSON.stringify(explanation, infinityToJson)
  return `${json.slice(0, -1)},"decision":${decisionJson(decision)}}`
}
