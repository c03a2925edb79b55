// A decision as JSON. Written by hand, because it is on the path of every answer: the fields are known, and putting them
// together as text takes a third of the time of JSON.stringify.
//
// JSON has no infinity. A wait that never ends is "never", and a limit that does not exist is null.

import { infinityToJson } from "sluice/internal"
import type { Explanation, RuleDecision, RuleLimit, RuleOutcome } from "sluice/rules"
import { frameOf } from "./decision-frame.js"
import type { JsonBytes } from "./json-bytes.js"
import { inQuotes, millis, quoted, wait } from "./json-text.js"

const RETRY = Buffer.from(',"retryAfterMs":')
const NO_RETRY = Buffer.from(',"retryAfterMs":0,"resetAfterMs":')
const RESET_AFTER = Buffer.from(',"resetAfterMs":')
const RESET_AT = Buffer.from(',"resetAt":')
const DELAY = Buffer.from(',"delayMs":')

export function decisionJson(decision: RuleDecision): string {
  const only = onlyOutcome(decision)
  return only !== undefined && isSimple(decision, only)
    ? simpleJson(decision, only.key)
    : fullJson(decision, only)
}

/** The same as bytes, for an answer of many decisions. */
export function writeDecision(json: JsonBytes, decision: RuleDecision): void {
  const only = onlyOutcome(decision)
  if (only !== undefined && isSimple(decision, only)) writeSimple(json, decision, only.key)
  else json.text(fullJson(decision, only))
}

function onlyOutcome({ rules, limits }: RuleDecision): RuleOutcome | undefined {
  return rules.length === 1 && limits === undefined ? rules[0] : undefined
}

/** Whether it is about one limit of one rule, and nothing is to be said beside it. */
function isSimple(
  { limit, degraded, shadowDenied }: RuleDecision,
  { mode, descriptor }: RuleOutcome,
): boolean {
  const isPlain = mode === "enforce" && descriptor === undefined
  return isPlain && degraded === undefined && shadowDenied.length === 0 && limit < Number.POSITIVE_INFINITY
}

/** In as few pieces as can be: every one of them is added to the text, and copied when the text is sent. */
function simpleJson(decision: RuleDecision, key: string): string {
  const { head, about, aboutAtOnce, end } = frameOf(decision)
  const { remaining, retryAfterMs, resetAfterMs, resetAt, delayMs } = decision
  const retry =
    retryAfterMs === 0
      ? ',"retryAfterMs":0,"resetAfterMs":'
      : `,"retryAfterMs":${wait(retryAfterMs)},"resetAfterMs":`
  const rest = delayMs === 0 ? aboutAtOnce : `,"delayMs":${millis(delayMs)}${about}`
  return `${head}${remaining}${retry}${wait(resetAfterMs)},"resetAt":${millis(resetAt)}${rest}${inQuotes(key)}${end}`
}

function writeSimple(json: JsonBytes, decision: RuleDecision, key: string): void {
  const { head, about, aboutAtOnce, end } = frameOf(decision).bytes
  const { retryAfterMs, resetAfterMs, delayMs } = decision
  json.raw(head)
  json.integer(decision.remaining)
  if (retryAfterMs === 0) json.raw(NO_RETRY)
  else {
    json.raw(RETRY)
    writeWait(json, retryAfterMs)
    json.raw(RESET_AFTER)
  }
  writeWait(json, resetAfterMs)
  json.raw(RESET_AT)
  json.millis(decision.resetAt)
  if (delayMs === 0) json.raw(aboutAtOnce)
  else {
    json.raw(DELAY)
    json.millis(delayMs)
    json.raw(about)
  }
  json.inQuotes(key)
  json.raw(end)
}

function writeWait(json: JsonBytes, ms: number): void {
  if (ms === Number.POSITIVE_INFINITY) json.text(wait(ms))
  else json.millis(ms)
}

function fullJson(decision: RuleDecision, only: RuleOutcome | undefined): string {
  const { rules, reason, rule, limitName, deniedBy, degraded, tier, shadowDenied } = decision
  let json = `{"allowed":${decision.allowed},"limit":${amount(decision.limit)},"remaining":${amount(decision.remaining)},"retryAfterMs":${wait(decision.retryAfterMs)},"resetAfterMs":${wait(decision.resetAfterMs)},"resetAt":${millis(decision.resetAt)},"delayMs":${millis(decision.delayMs)},"reason":"${reason}"`
  if (rule !== undefined) json += `,"rule":${quoted(rule)}`
  if (limitName !== undefined) json += `,"limitName":${quoted(limitName)}`
  if (only !== undefined && only.mode === "enforce" && only.descriptor === undefined) {
    // One limit of one rule: what stands above says it all but these.
    json += `,"key":${quoted(only.key)}`
  } else if (rules.length > 0) json += `,"rules":[${rules.map(outcomeJson).join(",")}]`
  if (deniedBy !== undefined) json += `,"deniedBy":${quoted(deniedBy)}`
  if (decision.ambiguous !== undefined) json += `,"ambiguous":${quoted(decision.ambiguous)}`
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

/** Not on the path of every answer, so by JSON.stringify; but the decision in it is the same as anywhere. */
export function explanationJson({ decision, ...explanation }: Explanation): string {
  const json = JSON.stringify(explanation, infinityToJson)
  return `${json.slice(0, -1)},"decision":${decisionJson(decision)}}`
}
