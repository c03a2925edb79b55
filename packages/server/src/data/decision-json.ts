// A decision as JSON. Written by hand, because it is on the path of every answer: the fields are known, and putting them
// together as text takes a third of the time of JSON.stringify.
//
// JSON has no infinity. A wait that never ends is "never", and a limit that does not exist is null.

import type { Explanation, RuleDecision, RuleLimit, RuleOutcome } from "sluice/rules"

export function decisionJson(decision: RuleDecision): string {
  const { rules, reason, rule, limitName, deniedBy, degraded, tier, limits, shadowDenied } = decision
  let json = `{"allowed":${decision.allowed},"limit":${amount(decision.limit)},"remaining":${amount(decision.remaining)},"retryAfterMs":${wait(decision.retryAfterMs)},"resetAfterMs":${wait(decision.resetAfterMs)},"resetAt":${millis(decision.resetAt)},"delayMs":${millis(decision.delayMs)},"reason":"${reason}"`
  if (rule !== undefined) json += `,"rule":${quoted(rule)}`
  if (limitName !== undefined) json += `,"limitName":${quoted(limitName)}`
  const only = rules.length === 1 && limits === undefined ? rules[0] : undefined
  if (only !== undefined && only.mode === "enforce" && only.descriptor === undefined) {
    // One limit of one rule: what stands above says it all but these.
    json += `,"key":${quoted(only.key)}`
  } else if (rules.length > 0) json += `,"rules":[${rules.map(outcomeJson).join(",")}]`
  if (deniedBy !== undefined) json += `,"deniedBy":${quoted(deniedBy)}`
  if (degraded !== undefined) json += `,"degraded":"${degraded}"`
  if (tier !== undefined) json += `,"tier":${quoted(tier)}`
  if (shadowDenied.length > 0) json += `,"shadowDenied":[${shadowDenied.map(quoted).join(",")}]`
  return `${json},"revision":${decision.revision}}`
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

function amount(value: number): number | null {
  return value === Number.POSITIVE_INFINITY ? null : value
}

function wait(ms: number): string {
  return ms === Number.POSITIVE_INFINITY ? '"never"' : millis(ms)
}

/** Beyond this, milliseconds have no room for exact decimals. */
const MOST_EXACT_MS = 2 ** 43
const THREE_DIGITS = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(3, "0"))

/**
 * Milliseconds, of which three decimals are known. From whole seconds and two times three digits: to find the shortest text
 * for any fraction, as the language does, takes longer than all the rest of a decision.
 */
function millis(ms: number): string {
  if (!(ms >= 0 && ms < MOST_EXACT_MS)) return String(ms)
  const micros = Math.round(ms * 1_000)
  const seconds = Math.floor(micros / 1_000_000)
  const rest = micros - seconds * 1_000_000
  const thousandth = Math.floor(rest / 1_000)
  const whole = seconds === 0 ? String(thousandth) : `${seconds}${THREE_DIGITS[thousandth]}`
  const decimals = rest - thousandth * 1_000
  return decimals === 0 ? whole : `${whole}.${THREE_DIGITS[decimals]}`
}

/** No control characters, quotes or backslashes, and no halves of a character, which are not to stand alone. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** Not on the path of every answer, so by JSON.stringify; but the decision in it is the same as anywhere. */
export function explanationJson({ decision, ...explanation }: Explanation): string {
  const json = JSON.stringify(explanation, (name, value: unknown) => {
    if (value !== Number.POSITIVE_INFINITY) return value
    return name === "limit" || name === "remaining" ? null : "never"
  })
  return `${json.slice(0, -1)},"decision":${decisionJson(decision)}}`
}
