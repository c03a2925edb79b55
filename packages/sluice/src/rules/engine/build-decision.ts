// Builds the decision of the engine from what the store answered.

import type { Verdict } from "../../algorithms/algorithm.js"
import { begunBlock, type LimitDecision } from "../../decision.js"
import type { HeaderPolicy } from "../../header-style.js"
import type { Charge, Outcome } from "../../stores/store.js"
import type { CompiledRule } from "./compile-rule.js"
import type { Held, Plan, PlanCharges, Step } from "./plan.js"
import { type PendingCharge, pendingCharge } from "./response-charge.js"
import type { BegunRuleBlock, RuleDecision, RuleOutcome } from "./rule-decision.js"
import type { RuleSet } from "./rule-set.js"

const NO_POLICIES: readonly HeaderPolicy[] = []
const NO_OUTCOMES: readonly RuleOutcome[] = []
const UNLIMITED = Number.POSITIVE_INFINITY
const NO_RULE: NonNullable<Plan["early"]> = { allowed: true, reason: "no-rule" }

/** What a decision has charged, for refunds. A symbol, because only the engine uses it. */
export const CHARGED = Symbol.for("sluice.charged")

/** The charges of a decision that the response may still change. */
export const PENDING = Symbol.for("sluice.pending")

/** What a request holds until it is over. */
export const HELD = Symbol.for("sluice.held")

/** A decision as the engine made it, with what it has charged. */
export type ChargedDecision = RuleDecision & {
  [CHARGED]?: readonly Charge[] | undefined
  [PENDING]?: readonly PendingCharge[] | undefined
  [HELD]?: readonly Held[] | undefined
}

/** A decision that no limit takes part in. */
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
    used: 0,
    windowMs: 0,
    // Waiting changes nothing.
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

/** The decision on a plan by what the store answered to its charges. */
export function buildDecision(
  set: RuleSet,
  plan: Plan,
  outcome: Outcome,
  { charges, held, blocked }: PlanCharges,
  policies: readonly HeaderPolicy[],
): RuleDecision {
  const { allowed, now, verdicts, degraded } = outcome
  let count = 0
  const rules = plan.enforced.map((step) => {
    const own = ruleOutcome(step, verdicts, count, now, "enforce")
    count += step.limits.length
    return own
  })
  const limits = rules.length === 1 ? (rules[0] as RuleOutcome).limits : rules.flatMap((own) => own.limits)
  const isPeek = plan.enforced.every(({ cost }) => cost === 0)
  const { tightest, slowest, last } = extremes(limits, isPeek)
  const shown = allowed ? tightest : slowest
  const { name } = limits[shown] as LimitDecision
  const { limit, remaining, used, windowMs } = limits[tightest] as LimitDecision
  const { retryAfterMs } = limits[slowest] as LimitDecision
  const { resetAfterMs, resetAt } = limits[last] as LimitDecision
  const step = stepOfLimit(plan.enforced, shown)
  const block = longestBlock(blocked, verdicts, count)
  const blockMs = (block?.verdict.retryAfter ?? 0) / 1000
  const rule = block === undefined ? step.rule : block.rule
  const decision: ChargedDecision = {
    allowed,
    limit,
    remaining: block === undefined ? remaining : 0,
    used,
    windowMs,
    retryAfterMs: allowed && !isPeek ? 0 : Math.max(retryAfterMs, blockMs),
    resetAfterMs: Math.max(resetAfterMs, blockMs),
    resetAt: blockMs > resetAfterMs ? now / 1000 + blockMs : resetAt,
    delayMs: allowed ? delayOf(verdicts, count) : 0,
    deniedBy: allowed ? undefined : block === undefined ? policies[shown]?.name : "block",
    begunBlocks: outcome.begun && begunIn(plan.enforced, outcome.begun),
    degraded,
    source: outcome.source,
    limits: count > 1 ? limits.map((own, i) => ({ ...own, name: policies[i]?.name ?? own.name })) : undefined,
    reason: allowed ? "within-limits" : block === undefined ? "limit" : "block",
    rule: rule.id,
    limitName: block === undefined ? name : undefined,
    mode: "enforce",
    tier: step.tier,
    revision: set.revision,
    rules,
    shadowDenied: plan.shadowDenied,
    headers: rule.headers,
    response: rule.response,
    policies,
    [CHARGED]: allowed ? (charges.length === count ? charges : charges.slice(0, count)) : undefined,
    [PENDING]: allowed ? pendingCharges(plan.enforced, rules, outcome) : undefined,
    [HELD]: allowed ? held : undefined,
  }
  return decision
}

/** The decision with the outcomes of the rules in shadow mode and of candidates added. `held` are the holds of these. */
export function withShadows(
  decision: RuleDecision,
  plan: Plan,
  outcomes: readonly Outcome[],
  held: readonly Held[],
): RuleDecision {
  const shadows = plan.shadows.map((step, i) => {
    const { verdicts, now } = outcomes[i] as Outcome
    return ruleOutcome(step, verdicts, 0, now, "shadow")
  })
  const charging: ChargedDecision = {
    ...decision,
    rules: [...decision.rules, ...shadows],
    shadowDenied: [
      ...decision.shadowDenied,
      ...shadows.filter(({ allowed }) => !allowed).map(({ rule }) => rule),
    ],
  }
  if (held.length > 0) charging[HELD] = [...(charging[HELD] ?? []), ...held]
  plan.shadows.forEach((step, i) => {
    const own = pendingCharges([step], [shadows[i] as RuleOutcome], outcomes[i] as Outcome)
    if (own !== undefined) charging[PENDING] = [...(charging[PENDING] ?? []), ...own]
  })
  return charging
}

/** The charges of those steps whose rule reads the response. The store decided about all of them together. */
function pendingCharges(
  steps: readonly Step[],
  decided: readonly RuleOutcome[],
  outcome: Outcome,
): PendingCharge[] | undefined {
  let found: PendingCharge[] | undefined
  let index = 0
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as Step
    const one = decided[i]?.allowed === true ? pendingCharge(step, outcome, index) : undefined
    if (one !== undefined) found = found === undefined ? [one] : [...found, one]
    index += step.limits.length
  }
  return found
}

/** What one rule decides. The verdicts on its limits start at `at`. */
export function ruleOutcome(
  { rule, key, tier, limits, from, descriptor }: Step,
  verdicts: readonly Verdict[],
  at: number,
  now: number,
  mode: "enforce" | "shadow",
): RuleOutcome {
  let allowed = true
  const entries = limits.map(({ name, policy, windowMs }, i): LimitDecision => {
    const verdict = verdicts[at + i] as Verdict
    allowed &&= verdict.allowed
    return {
      name,
      allowed: verdict.allowed,
      limit: policy.promisedCapacity,
      remaining: verdict.remaining,
      used: verdict.used,
      windowMs,
      retryAfterMs: verdict.retryAfter / 1000,
      resetAfterMs: verdict.resetAfter / 1000,
      resetAt: (now + verdict.resetAfter) / 1000,
    }
  })
  const outcome = { rule: rule.id, mode, allowed, key, tier, limits: entries }
  if (from !== "candidate" && descriptor === undefined) return outcome
  return { ...outcome, ...(from === "candidate" ? { candidate: true } : {}), descriptor }
}

/**
 * The indexes of the limit with the least remaining, of the one with the longest wait, and of the one that resets last. A rule of
 * cost 0 beside others of a higher cost delays nothing, so its wait does not count; in a peek, all of them count.
 */
function extremes(
  limits: readonly LimitDecision[],
  isPeek: boolean,
): { tightest: number; slowest: number; last: number } {
  const waitOf = ({ allowed, retryAfterMs }: LimitDecision) => (allowed && !isPeek ? 0 : retryAfterMs)
  let tightest = 0
  let slowest = 0
  let last = 0
  for (let i = 1; i < limits.length; i++) {
    const { remaining, resetAfterMs } = limits[i] as LimitDecision
    if (remaining < (limits[tightest] as LimitDecision).remaining) tightest = i
    if (waitOf(limits[i] as LimitDecision) > waitOf(limits[slowest] as LimitDecision)) slowest = i
    if (resetAfterMs > (limits[last] as LimitDecision).resetAfterMs) last = i
  }
  return { tightest, slowest, last }
}

/** The step that a limit belongs to, by the index of the limit among those of all steps. */
function stepOfLimit(steps: readonly Step[], index: number): Step {
  let end = 0
  for (const step of steps) {
    end += step.limits.length
    if (index < end) return step
  }
  return steps.at(-1) as Step
}

/** The block in force that lasts longest, and its rule. The verdicts on blocks start at `at`. */
function longestBlock(rules: readonly CompiledRule[], verdicts: readonly Verdict[], at: number) {
  let longest: { readonly rule: CompiledRule; readonly verdict: Verdict } | undefined
  for (let i = 0; i < rules.length; i++) {
    const verdict = verdicts[at + i] as Verdict
    if (!verdict.allowed && verdict.retryAfter > (longest?.verdict.retryAfter ?? -1))
      longest = { rule: rules[i] as CompiledRule, verdict }
  }
  return longest
}

function begunIn(steps: readonly Step[], begun: NonNullable<Outcome["begun"]>): BegunRuleBlock[] {
  const limits = steps.flatMap(({ rule, key, limits }) => limits.map(({ name }) => ({ rule, key, name })))
  return begun.flatMap((block) => {
    const { rule, key, name } = limits[block.limit] ?? {}
    if (rule === undefined || key === undefined) return []
    return [{ rule: rule.id, key, ...begunBlock(block, name) }]
  })
}

function delayOf(verdicts: readonly Verdict[], count: number): number {
  let delay = 0
  for (let i = 0; i < count; i++) delay = Math.max(delay, (verdicts[i] as Verdict).delay)
  return delay / 1000
}
