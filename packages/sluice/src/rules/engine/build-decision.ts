// From what the store said to the decision of the engine.

import type { Verdict } from "../../algorithms/algorithm.js"
import type { HeaderPolicy } from "../../header-style.js"
import type { Charge, Outcome, SingleVerdict } from "../../stores/store.js"
import type { Plan, Step } from "./plan.js"
import { type Unsettled, unsettled } from "./response-cost.js"
import type { RuleDecision, RuleLimit, RuleOutcome } from "./rule-decision.js"
import type { CompiledRule, RuleSet } from "./rule-set.js"

const NO_POLICIES: readonly HeaderPolicy[] = []
const NO_OUTCOMES: readonly RuleOutcome[] = []
export const NOBODY: readonly string[] = []
const UNLIMITED = Number.POSITIVE_INFINITY
const NO_RULE: NonNullable<Plan["early"]> = { allowed: true, reason: "no-rule" }

/** What a decision has charged, to be given back. A symbol: it is nobody's business but the engine's. */
export const CHARGED = Symbol.for("sluice.charged")

/** What of it the answer may change. */
export const UNSETTLED = Symbol.for("sluice.unsettled")

export type Charging = RuleDecision & {
  /** Of a single limit the step, which says the same in what is there already. */
  readonly [CHARGED]?: readonly Charge[] | Step | undefined
  [UNSETTLED]?: readonly Unsettled[] | undefined
}

/** A decision that no limit has a part in. */
export function earlyDecision(
  set: RuleSet,
  plan: Plan,
  nowMs: number,
  tier: string | undefined,
): RuleDecision {
  const { allowed, reason, rule, ambiguous } = plan.early ?? NO_RULE
  return {
    allowed,
    limit: allowed ? UNLIMITED : 0,
    remaining: allowed ? UNLIMITED : 0,
    // Nothing that waiting would change.
    retryAfterMs: allowed ? 0 : UNLIMITED,
    resetAfterMs: 0,
    resetAt: nowMs,
    delayMs: 0,
    ...(allowed ? {} : { deniedBy: reason }),
    ...(ambiguous === undefined ? {} : { ambiguous }),
    reason,
    rule: rule?.id,
    mode: rule?.mode ?? "enforce",
    tier,
    revision: set.revision,
    rules: NO_OUTCOMES,
    shadowDenied: plan.shadowDenied,
    headers: rule?.headers ?? "none",
    response: rule?.response,
    policies: NO_POLICIES,
  }
}

/** The decision on one limit of one rule: by far the most, and the cheapest. */
export function decisionOfSingle(
  set: RuleSet,
  step: Step,
  verdict: SingleVerdict,
  policies: readonly HeaderPolicy[],
): RuleDecision {
  const { rule, key, tier } = step
  const { name, policy, windowMs } = step.limits[0] as Step["limits"][number]
  const { allowed, remaining } = verdict
  const limit = policy.capacity
  const retryAfterMs = verdict.retryAfter / 1000
  const resetAfterMs = verdict.resetAfter / 1000
  const resetAt = (verdict.now + verdict.resetAfter) / 1000
  const limits = [{ name, allowed, limit, remaining, retryAfterMs, resetAfterMs, resetAt, windowMs }]
  const { descriptor } = step
  const outcome = { rule: rule.id, mode: "enforce" as const, allowed, key, tier, limits, descriptor }
  const decision: Charging = {
    allowed,
    limit,
    remaining,
    retryAfterMs,
    resetAfterMs,
    resetAt,
    delayMs: allowed ? verdict.delay / 1000 : 0,
    deniedBy: allowed ? undefined : rule.id,
    degraded: verdict.degraded,
    limits: undefined,
    reason: allowed ? "within-limits" : "limit",
    rule: rule.id,
    limitName: name,
    mode: "enforce",
    tier,
    revision: set.revision,
    rules: [outcome],
    shadowDenied: NOBODY,
    headers: rule.headers,
    response: rule.response,
    policies,
    [CHARGED]: allowed ? step : undefined,
    [UNSETTLED]: allowed && rule.settlement !== undefined ? unsettledOf([step], [outcome]) : undefined,
  }
  return decision
}

/** `blocked`: the rules whose block was asked for, in the order of the verdicts behind those of the limits. */
export function decisionOfPlan(
  set: RuleSet,
  plan: Plan,
  outcome: Outcome,
  charges: readonly Charge[],
  blocked: readonly CompiledRule[],
  policies: readonly HeaderPolicy[],
): RuleDecision {
  const { allowed, now, verdicts, degraded } = outcome
  let at = 0
  const rules = plan.enforced.map((step) => {
    const own = ruleOutcome(step, verdicts, at, now, "enforce")
    at += step.limits.length
    return own
  })
  const block = blockOf(blocked, verdicts, at)
  const [tight, slow] = extremes(rules)
  const shown = allowed ? tight : slow
  const shownStep = plan.enforced[shown.step] as Step
  const rule = block === undefined ? shownStep.rule : block.rule
  const several = at > 1
  const shownLimit = rules[shown.step]?.limits[shown.limit] as RuleLimit
  const tightest = rules[tight.step]?.limits[tight.limit] as RuleLimit
  const retryAfterMs = Math.max(shownLimit.retryAfterMs, (block?.verdict.retryAfter ?? 0) / 1000)
  const last = latest(rules)
  const decision: Charging = {
    allowed,
    limit: tightest.limit,
    remaining: block === undefined ? tightest.remaining : 0,
    retryAfterMs: allowed ? 0 : retryAfterMs,
    resetAfterMs: last.resetAfterMs,
    resetAt: last.resetAt,
    delayMs: allowed ? delayOf(verdicts, at) : 0,
    deniedBy: allowed ? undefined : block === undefined ? labelOf(plan, shown, policies) : "block",
    degraded,
    limits: several ? labelled(rules, policies) : undefined,
    reason: allowed ? "within-limits" : block === undefined ? "limit" : "block",
    rule: rule.id,
    limitName: block === undefined ? shownLimit.name : undefined,
    mode: "enforce",
    tier: shownStep.tier,
    revision: set.revision,
    rules,
    shadowDenied: plan.shadowDenied,
    headers: rule.headers,
    response: rule.response,
    policies,
    [CHARGED]: allowed ? charges.slice(0, at) : undefined,
    // Nothing was charged where nobody could be asked.
    [UNSETTLED]: allowed && degraded !== "allow" ? unsettledOf(plan.enforced, rules) : undefined,
  }
  return decision
}

/** The same decision, with what the shadows said. */
export function withShadows(decision: RuleDecision, plan: Plan, outcomes: readonly Outcome[]): RuleDecision {
  if (outcomes.length === 0) return decision
  const shadows = plan.shadows.map((step, i) => {
    const { verdicts, now } = outcomes[i] as Outcome
    return ruleOutcome(step, verdicts, 0, now, "shadow")
  })
  const charging: Charging = {
    ...decision,
    rules: [...decision.rules, ...shadows],
    shadowDenied: [
      ...decision.shadowDenied,
      ...shadows.filter(({ allowed }) => !allowed).map(({ rule }) => rule),
    ],
  }
  const own = unsettledOf(plan.shadows, shadows)
  if (own !== undefined) charging[UNSETTLED] = [...(charging[UNSETTLED] ?? []), ...own]
  return charging
}

/** Of the steps that were charged, those whose rule looks at the answer. */
function unsettledOf(steps: readonly Step[], outcomes: readonly RuleOutcome[]): Unsettled[] | undefined {
  let found: Unsettled[] | undefined
  for (let i = 0; i < steps.length; i++) {
    const outcome = outcomes[i] as RuleOutcome
    const one = outcome.allowed ? unsettled(steps[i] as Step, outcome) : undefined
    if (one !== undefined) found = found === undefined ? [one] : [...found, one]
  }
  return found
}

export function ruleOutcome(
  { rule, key, tier, limits, from, descriptor }: Step,
  verdicts: readonly Verdict[],
  at: number,
  now: number,
  mode: "enforce" | "shadow",
): RuleOutcome {
  let allowed = true
  const entries = limits.map(({ name, policy, windowMs }, i): RuleLimit => {
    const verdict = verdicts[at + i] as Verdict
    allowed &&= verdict.allowed
    return {
      name,
      allowed: verdict.allowed,
      limit: policy.capacity,
      remaining: verdict.remaining,
      retryAfterMs: verdict.retryAfter / 1000,
      resetAfterMs: verdict.resetAfter / 1000,
      resetAt: (now + verdict.resetAfter) / 1000,
      windowMs,
    }
  })
  const outcome = { rule: rule.id, mode, allowed, key, tier, limits: entries }
  if (from !== "candidate" && descriptor === undefined) return outcome
  return { ...outcome, ...(from === "candidate" ? { candidate: true } : {}), descriptor }
}

interface Place {
  readonly step: number
  readonly limit: number
}

/** The limit with the least remaining, and the one that denies for longest. */
function extremes(rules: readonly RuleOutcome[]): [Place, Place] {
  let tight: Place = { step: 0, limit: 0 }
  let slow = tight
  let least = UNLIMITED
  let longest = -1
  rules.forEach(({ limits }, step) => {
    limits.forEach(({ remaining, retryAfterMs }, limit) => {
      if (remaining < least) {
        least = remaining
        tight = { step, limit }
      }
      if (retryAfterMs > longest) {
        longest = retryAfterMs
        slow = { step, limit }
      }
    })
  })
  return [tight, slow]
}

/** The limit that is as new last. */
function latest(rules: readonly RuleOutcome[]): RuleLimit {
  let last: RuleLimit | undefined
  for (const { limits } of rules)
    for (const limit of limits) if (last === undefined || limit.resetAfterMs > last.resetAfterMs) last = limit
  return last as RuleLimit
}

function blockOf(rules: readonly CompiledRule[], verdicts: readonly Verdict[], at: number) {
  for (let i = 0; i < rules.length; i++) {
    const verdict = verdicts[at + i] as Verdict
    if (!verdict.allowed) return { rule: rules[i] as CompiledRule, verdict }
  }
  return undefined
}

function delayOf(verdicts: readonly Verdict[], count: number): number {
  let delay = 0
  for (let i = 0; i < count; i++) delay = Math.max(delay, (verdicts[i] as Verdict).delay)
  return delay / 1000
}

/** The limits of all rules in one list, by the names that tell them apart in headers. */
function labelled(rules: readonly RuleOutcome[], policies: readonly HeaderPolicy[]): RuleLimit[] {
  const labelled: RuleLimit[] = []
  for (const { limits } of rules) {
    for (const limit of limits) {
      const { name } = policies[labelled.length] as HeaderPolicy
      const { allowed, remaining, retryAfterMs, resetAfterMs, resetAt, windowMs } = limit
      labelled.push({
        name,
        allowed,
        limit: limit.limit,
        remaining,
        retryAfterMs,
        resetAfterMs,
        resetAt,
        windowMs,
      })
    }
  }
  return labelled
}

/** The name that a limit has among all of them. */
function labelOf(plan: Plan, { step, limit }: Place, policies: readonly HeaderPolicy[]): string {
  const before = plan.enforced.slice(0, step).reduce((sum, { limits }) => sum + limits.length, 0)
  return (policies[before + limit] as HeaderPolicy).name
}
