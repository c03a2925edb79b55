// Explains a decision, rule by rule.

import { isConcurrency } from "../../algorithms/concurrency.js"
import type { LimitDecision } from "../../decision.js"
import { formatDuration } from "../../duration.js"
import type { Charge, Outcome } from "../../stores/store.js"
import type { BodyEstimate } from "../../usage/body-cost.js"
import { weightsOf } from "../../usage/fields.js"
import type { WhyMatched } from "../identity/descriptor.js"
import type { Identity } from "../identity/identity.js"
import { ruleOutcome } from "./build-decision.js"
import type { Applying, CompiledRule, RuleLimitPolicy } from "./compile-rule.js"
import { activeRules, chargesOfStep, type Plan, type Step, stepOf } from "./plan.js"
import type { Mode, RuleDecision } from "./rule-decision.js"
import type { RuleSet } from "./rule-set.js"

export interface Explanation {
  readonly revision: number
  /** The request as the rules see it. API keys are hashed. */
  readonly request: {
    readonly method: string
    readonly host: string
    readonly path: string
    readonly query: string
    readonly badPath?: string
    readonly ip?: string | undefined
    readonly user?: string | undefined
    readonly apiKey?: string | undefined
    readonly tier?: string | undefined
  }
  readonly rules: readonly RuleExplanation[]
  /** What a check would answer. */
  readonly decision: RuleDecision
  /** The decision in a sentence. */
  readonly verdict: string
}

export interface RuleExplanation {
  readonly rule: string
  readonly mode: Mode
  readonly matched: boolean
  /** Whether it has a say: it matched, is not off, was not replaced, and has a limit for this client. */
  readonly applies: boolean
  /** One sentence: why the rule matched or not, and why it applies or not. */
  readonly because: string
  readonly key?: string
  readonly cost?: number
  /** Where its limits come from. */
  readonly limitsFrom?: Applying["from"]
  readonly limits?: readonly LimitDecision[]
  /** The names of its limits of concurrency. Their `retryAfterMs` is the longest wait: holders usually release earlier. */
  readonly concurrent?: readonly string[]
  /** For limits with leases: what that costs, a sentence for each limit. */
  readonly leases?: readonly string[]
  /** If the cost depends on the body of the request or on the response: how, in a sentence. */
  readonly response?: string
  /** The state of the candidate limits. */
  readonly candidate?: readonly LimitDecision[]
}

interface ExplainContext {
  readonly set: RuleSet
  readonly identity: Identity
  readonly plan: Plan
  readonly nowMs: number
  /** The cost, instead of what the rules define. */
  readonly cost: number | undefined
  readonly decision: RuleDecision
  decide(charges: readonly Charge[]): Promise<Outcome>
}

export async function explain(context: ExplainContext): Promise<Explanation> {
  const { set, identity, decision } = context
  const { badPath } = identity
  return {
    revision: set.revision,
    request: {
      method: identity.method,
      host: identity.host,
      path: identity.path,
      query: identity.shownQuery,
      ...(badPath === undefined ? {} : { badPath }),
      ip: identity.ip,
      user: identity.user,
      apiKey: identity.apiKey,
      tier: identity.tier,
    },
    rules: await Promise.all(set.rules.map((rule, index) => explainRule(context, rule, index))),
    decision,
    verdict: verdictOf(context),
  }
}

async function explainRule(
  context: ExplainContext,
  rule: CompiledRule,
  index: number,
): Promise<RuleExplanation> {
  const { set, identity, nowMs } = context
  const reason = set.whyMatched(index, identity)
  const about = { rule: rule.id, mode: rule.mode, matched: reason.matched }
  if (!reason.matched) return { ...about, applies: false, because: mismatch(reason, identity) }
  const isActive = activeRules(set, set.match(identity)).some((matched) => matched.index === index)
  if (rule.mode === "off") return { ...about, applies: false, because: "it is off" }
  if (!isActive) return { ...about, applies: false, because: `${replacer(context, rule)} takes its place` }
  const step = stepOf(set, rule, identity, reason.match, nowMs, context.cost)
  if (step === undefined) return { ...about, applies: false, because: exemption(rule, context) }
  if (step === "deny-list")
    return { ...about, applies: true, because: `${rule.deny.get(identity)} is on its deny list` }
  if (step === "missing-key")
    return { ...about, applies: true, because: "the request has no key, and the rule denies those" }
  if (step === "ambiguous-key") {
    const because = `it cannot tell whom the request counts for: ${identity.ambiguity}`
    return { ...about, applies: true, because }
  }
  const limits = await stateOf(context, step)
  const candidate = rule.candidate === "unlimited" ? undefined : rule.candidate
  const concurrent = [...step.limits, ...(candidate ?? [])].filter(({ policy }) => isConcurrency(policy))
  const response = costSentence(rule, step, context.cost !== undefined)
  return {
    ...about,
    applies: true,
    because: matchSentence(rule, reason.match.pattern),
    key: step.key,
    cost: step.cost,
    limitsFrom: step.from as Applying["from"],
    limits,
    ...(concurrent.length === 0 ? {} : { concurrent: concurrent.map(({ name }) => name) }),
    ...(response === "" ? {} : { response }),
    ...(rule.leases === false ? {} : { leases: step.limits.flatMap(costOfLeases) }),
    ...(candidate === undefined ? {} : { candidate: await stateOf(context, { ...step, limits: candidate }) }),
  }
}

async function stateOf(context: ExplainContext, step: Step): Promise<readonly LimitDecision[]> {
  if (step.limits.length === 0) return []
  const { verdicts, now } = await context.decide(chargesOfStep(step))
  return ruleOutcome(step, verdicts, 0, now, "enforce").limits
}

/**
 * What bodies and the response have to do with the cost of a request: where its estimate comes from, and what settles it. Empty for
 * a rule that reads neither. `isGiven` is whether the caller named the cost.
 */
function costSentence(
  { spec, responseCharge }: CompiledRule,
  { cost, factor }: Step,
  isGiven: boolean,
): string {
  const { estimate, models, by, header } = typeof spec.cost === "object" ? spec.cost : {}
  const { refundOn, header: answerHeader, fields, overdraft } = responseCharge ?? {}
  const ofModel = models === undefined ? "" : `, times ${factor} for the model,`
  const parts: string[] = []
  if (refundOn !== undefined && refundOn.size > 0) parts.push("some statuses give the cost back")
  // An entry of `by`, or the header of a trusted proxy, may have taken the place of the body.
  if (!isGiven && typeof estimate === "object" && by === undefined && header === undefined)
    parts.push(`the request's ${bodyTerms(estimate)}${ofModel} is charged first: ${cost}`)
  const read = [
    ...(answerHeader === undefined ? [] : [`header ${answerHeader}`]),
    ...(fields === undefined || fields.size === 0 ? [] : [`JSON ${weightedTerms(fields)}`]),
  ]
  if (read.length > 0) {
    const rest = overdraft === "charge" ? "also beyond the limit" : "as far as the limit has room"
    parts.push(
      `the response's ${read.join(" or else ")}${ofModel} settles the estimate of ${cost}, and more is charged ${rest}`,
    )
  }
  return parts.join("; ")
}

function bodyTerms({ json, bytesPerUnit, default: otherwise = 1 }: BodyEstimate): string {
  const terms = json === undefined ? [] : [`JSON ${weightedTerms(weightsOf(json))} (${otherwise} without it)`]
  if (bytesPerUnit !== undefined) terms.push(`length / ${bytesPerUnit}`)
  return terms.join(" + ")
}

function weightedTerms(weights: ReadonlyMap<string, number>): string {
  return [...weights].map(([field, weight]) => (weight === 1 ? field : `${field} × ${weight}`)).join(" + ")
}

/** What the leases of a limit take away from it. Nothing for a limit that has none. */
function costOfLeases({ name, policy }: RuleLimitPolicy): string[] {
  const { lease, capacity, promisedCapacity, window, promisedWindow } = policy
  if (lease === 0) return []
  const length = formatDuration(lease / 1000)
  let cost = "a lease ends with the window or bucket that it was charged to"
  if (capacity < promisedCapacity) cost = `the burst is ${capacity} instead of ${promisedCapacity}`
  else if (window > promisedWindow)
    cost = `a unit counts for ${formatDuration(promisedWindow / 1000)} and ${formatDuration((window - promisedWindow) / 1000)}`
  return [`limit "${name}" has leases of at most ${length}: ${cost}`]
}

function mismatch(reason: Extract<WhyMatched, { matched: false }>, identity: Identity): string {
  const part = reason.name === undefined ? reason.part : `${reason.part} ${reason.name}`
  const value = identity.isCredential(reason.part, reason.name)
    ? "has a value that is not shown"
    : `is ${JSON.stringify(reason.found)}`
  const found = reason.found === undefined ? "is not there" : value
  return `${part} ${found}, and must be ${reason.expected}`
}

function matchSentence(rule: CompiledRule, pattern: string | undefined): string {
  const parts = Object.keys(rule.spec.match ?? {})
  if (parts.length === 0) return "it matches every request"
  if (pattern !== undefined) return `the path matches ${pattern}`
  return parts.length === 1 ? `its ${parts[0]} matches` : `${parts.join(" and ")} match`
}

function replacer({ set, identity }: ExplainContext, rule: CompiledRule): string {
  const other = set
    .match(identity)
    .map(({ index }) => set.rules[index] as CompiledRule)
    .find((candidate) => candidate.mode === "enforce" && candidate.replaces.has(rule.id))
  return `rule "${other?.id}"`
}

/** Why a rule that matches does not apply. */
function exemption(rule: CompiledRule, { set, identity, nowMs }: ExplainContext): string {
  const listed = rule.allow.get(identity)
  if (listed !== undefined) return `${listed} is on its allow list`
  const { limits, from } = set.limitsFor(rule, identity, identity.tier, nowMs)
  if (limits === "unlimited") {
    if (from === "tier") return `tier ${identity.tier} is unlimited`
    return from === "override" ? "an override makes this client unlimited" : "it is unlimited"
  }
  return rule.onMissingKey === "skip"
    ? "the request has no key, and the rule skips those"
    : "the request has descriptors and no key for a rule that is not about them"
}

function verdictOf({ set, identity, decision, plan }: ExplainContext): string {
  const { reason, rule, limitName, retryAfterMs } = decision
  const holds = plan.enforced
    .filter((step) => step.rule.id === rule)
    .some(({ limits }) => limits.some(({ name, policy }) => name === limitName && isConcurrency(policy)))
  // Holders usually release before their holds end by themselves.
  const passes = holds ? "when a place is free, at the latest in" : "in"
  const wait =
    retryAfterMs === Number.POSITIVE_INFINITY
      ? "it can never pass"
      : `it may pass ${passes} ${retryAfterMs} ms`
  switch (reason) {
    case "no-rule":
      return "allowed: no rule has anything to say"
    case "within-limits":
      return `allowed: ${decision.remaining} of ${decision.limit} left by limit "${limitName}" of rule "${rule}"`
    case "limit":
      return `denied by limit "${limitName}" of rule "${rule}": ${wait}`
    case "block":
      return `denied: the key is blocked in rule "${rule}"; ${wait}`
    case "allow-list":
      return `allowed: ${set.allow.get(identity)} is on the allow list`
    case "deny-list":
      return plan.early?.rule === undefined
        ? `denied: ${set.deny.get(identity)} is on the deny list`
        : `denied: ${plan.early.rule.deny.get(identity)} is on the deny list of rule "${rule}"`
    case "missing-key":
      return `denied: the request has no key for rule "${rule}"`
    case "ambiguous-key":
      return `denied: ${rule === undefined ? "" : `rule "${rule}" cannot tell whom it counts for; `}${decision.ambiguous}`
    case "bad-path":
      return `denied: the path has no canonical form (${identity.badPath})`
  }
}
