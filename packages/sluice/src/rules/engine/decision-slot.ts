// Room for a decision that is written over by the next. A service that answers batches asks a million times a second and keeps
// no decision: a new one each time is half a kilobyte that has to be collected.

import type { HeaderPolicy } from "../../header-style.js"
import type { SingleVerdict } from "../../stores/store.js"
import { CHARGED, type Charging, NOBODY } from "./build-decision.js"
import type { RuleLimitPolicy } from "./limit-set.js"
import type { Step } from "./plan.js"
import type { RuleDecision, RuleLimit, RuleOutcome } from "./rule-decision.js"
import type { RuleSet } from "./rule-set.js"

type Writable<T> = { -readonly [Field in keyof T]: T[Field] }

/** Hand it to `checkSync`: the decision it returns may then be the slot's, and stands until the slot is handed over again. */
export class DecisionSlot {
  readonly #limit: Writable<RuleLimit> = {
    name: "",
    allowed: true,
    limit: 0,
    remaining: 0,
    retryAfterMs: 0,
    resetAfterMs: 0,
    resetAt: 0,
    windowMs: 0,
  }
  readonly #outcome: Writable<RuleOutcome> = {
    rule: "",
    mode: "enforce",
    allowed: true,
    key: "",
    tier: undefined,
    limits: [this.#limit],
    descriptor: undefined,
  }
  readonly #decision: Writable<Charging> = {
    allowed: true,
    limit: 0,
    remaining: 0,
    retryAfterMs: 0,
    resetAfterMs: 0,
    resetAt: 0,
    delayMs: 0,
    deniedBy: undefined,
    degraded: undefined,
    limits: undefined,
    reason: "within-limits",
    rule: "",
    limitName: "",
    mode: "enforce",
    tier: undefined,
    revision: 0,
    rules: [this.#outcome],
    shadowDenied: NOBODY,
    headers: "both",
    response: undefined,
    policies: [],
    [CHARGED]: undefined,
  }
  /** The limits and the revision that the last decision was about: mostly the next one is as well. */
  #limits: readonly RuleLimitPolicy[] | undefined

  /** What `decisionOfSingle` makes, for a rule whose charges nobody settles. */
  fill(set: RuleSet, step: Step, verdict: SingleVerdict, policies: readonly HeaderPolicy[]): RuleDecision {
    const limit = this.#limit
    const outcome = this.#outcome
    const decision = this.#decision
    if (this.#limits !== step.limits || decision.revision !== set.revision) this.#about(set, step, policies)
    const { allowed, remaining } = verdict
    const retryAfterMs = verdict.retryAfter / 1000
    const resetAfterMs = verdict.resetAfter / 1000
    const resetAt = (verdict.now + verdict.resetAfter) / 1000
    limit.allowed = allowed
    limit.remaining = remaining
    limit.retryAfterMs = retryAfterMs
    limit.resetAfterMs = resetAfterMs
    limit.resetAt = resetAt
    outcome.allowed = allowed
    outcome.key = step.key
    outcome.tier = step.tier
    outcome.descriptor = step.descriptor
    decision.allowed = allowed
    decision.remaining = remaining
    decision.retryAfterMs = retryAfterMs
    decision.resetAfterMs = resetAfterMs
    decision.resetAt = resetAt
    decision.delayMs = allowed ? verdict.delay / 1000 : 0
    decision.deniedBy = allowed ? undefined : step.rule.id
    decision.degraded = verdict.degraded
    decision.reason = allowed ? "within-limits" : "limit"
    decision.tier = step.tier
    decision[CHARGED] = allowed ? step : undefined
    return decision
  }

  /** What is the same for every decision on these limits. */
  #about(set: RuleSet, { rule, limits }: Step, policies: readonly HeaderPolicy[]): void {
    const { name, policy, windowMs } = limits[0] as RuleLimitPolicy
    const limit = this.#limit
    const decision = this.#decision
    limit.name = name
    limit.limit = policy.capacity
    limit.windowMs = windowMs
    this.#outcome.rule = rule.id
    decision.limit = policy.capacity
    decision.rule = rule.id
    decision.limitName = name
    decision.revision = set.revision
    decision.headers = rule.headers
    decision.response = rule.response
    decision.policies = policies
    this.#limits = limits
  }
}
