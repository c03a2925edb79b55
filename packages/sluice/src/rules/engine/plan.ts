// What a request is asked of the store: which rules it meets, under which keys, with which limits.

import type { HeaderPolicy } from "../../header-style.js"
import { parseKeyPart } from "../language/key-part.js"
import type { MatchedRule } from "./descriptor.js"
import type { Identity } from "./identity.js"
import { keyOf } from "./key.js"
import type { RuleLimitPolicy } from "./limit-set.js"
import type { Reason } from "./rule-decision.js"
import { type Applying, type CompiledRule, headerPolicies, type RuleSet } from "./rule-set.js"

/** One rule that has something to count. */
export interface Step {
  readonly rule: CompiledRule
  readonly key: string
  readonly tier: string | undefined
  readonly limits: readonly RuleLimitPolicy[]
  readonly from: Applying["from"] | "candidate"
  readonly cost: number
  /** Which of the request's descriptors met the rule. */
  readonly descriptor?: number | undefined
}

export interface Plan {
  /** What is decided before any counter is looked at. */
  readonly early:
    | {
        readonly allowed: boolean
        readonly reason: Reason
        readonly rule?: CompiledRule | undefined
        readonly ambiguous?: string | undefined
      }
    | undefined
  /** Checked together: all pass and all are charged, or none. */
  readonly enforced: readonly Step[]
  /** Each checked by itself; none of them ever blocks. */
  readonly shadows: readonly Step[]
  /** Shadows that would deny without counting. */
  readonly shadowDenied: readonly string[]
}

const NO_STEPS: readonly Step[] = []
const NO_LIMITS: readonly RuleLimitPolicy[] = []
const NOBODY: readonly string[] = []
const WHOLE_DESCRIPTOR = [parseKeyPart("descriptor", "keyBy")]

function early(allowed: boolean, reason: Reason, rule?: CompiledRule, ambiguous?: string): Plan {
  const verdict = { allowed, reason, rule, ambiguous }
  return { early: verdict, enforced: NO_STEPS, shadows: NO_STEPS, shadowDenied: NOBODY }
}

/** Whether it is a step that nothing else stands beside. */
export function isStep(planned: Plan | Step): planned is Step {
  return (planned as Step).rule !== undefined
}

/** The plan in its full form, whatever there is of it. */
export function wholePlan(planned: Plan | Step): Plan {
  if (!isStep(planned)) return planned
  return { early: undefined, enforced: [planned], shadows: NO_STEPS, shadowDenied: NOBODY }
}

/**
 * `cost` takes the place of what the rules say. The identity knows its tier by now. Most requests meet one rule with one limit:
 * then that step is all of the plan, and no lists are made for it.
 */
export function planOf(
  set: RuleSet,
  identity: Identity,
  nowMs: number,
  cost: number | undefined,
): Plan | Step {
  // Of what the tier was read from.
  const unclearTier = identity.ambiguity
  identity.ambiguity = undefined
  if (set.deny.get(identity) !== undefined) return early(false, "deny-list")
  if (identity.ambiguity !== undefined) return early(false, "ambiguous-key", undefined, identity.ambiguity)
  if (set.allow.get(identity) !== undefined) return early(true, "allow-list")
  if (identity.badPath !== undefined) return early(false, "bad-path")
  const unclear = unclearTier ?? identity.ambiguity
  if (unclear !== undefined) return early(false, "ambiguous-key", undefined, unclear)
  let enforced = NO_STEPS
  let shadows = NO_STEPS
  let shadowDenied = NOBODY
  const all = standing(set, set.match(identity))
  for (let i = 0; i < all.length; i++) {
    const matched = all[i] as MatchedRule
    const rule = set.rules[matched.index] as CompiledRule
    const result = stepOf(set, rule, identity, matched, nowMs, cost)
    if (result === undefined) continue
    if (all.length === 1 && isWhole(result)) return result
    if (typeof result === "string") {
      if (rule.mode === "enforce") return early(false, result, rule, ambiguityOf(result, identity))
      shadowDenied = added(shadowDenied, rule.id)
      continue
    }
    if (rule.mode === "shadow") shadows = added(shadows, result)
    else {
      if (result.limits.length > 0) enforced = added(enforced, result)
      if (rule.candidate !== undefined && rule.candidate !== "unlimited")
        shadows = added(shadows, { ...result, limits: rule.candidate, from: "candidate" })
    }
  }
  return { early: undefined, enforced, shadows, shadowDenied }
}

function ambiguityOf(reason: Reason, { ambiguity }: Identity): string | undefined {
  return reason === "ambiguous-key" ? ambiguity : undefined
}

/** Whether a step is enforced on one limit, and nothing is tried beside it. */
function isWhole(result: Step | Reason): result is Step {
  if (typeof result === "string") return false
  const { rule, limits } = result
  return limits.length === 1 && rule.mode === "enforce" && rule.candidate === undefined
}

/** The list with one more, which is the same list but for the first. One made empty would get room for 17 with its first. */
function added<T>(list: readonly T[], item: T): readonly T[] {
  if (list.length === 0) return [item]
  const own = list as T[]
  own.push(item)
  return own
}

/** Without rules that are off, and those whose place another has taken. A shadow takes nobody's place. */
export function standing(set: RuleSet, matched: readonly MatchedRule[]): readonly MatchedRule[] {
  let replaced: Set<string> | undefined
  let off = false
  for (const { index } of matched) {
    const rule = set.rules[index] as CompiledRule
    if (rule.mode === "off") off = true
    else if (rule.mode === "enforce" && rule.replaces.size > 0)
      replaced = new Set([...(replaced ?? []), ...rule.replaces])
  }
  if (!off && replaced === undefined) return matched
  return matched.filter(({ index }) => {
    const rule = set.rules[index] as CompiledRule
    return rule.mode !== "off" && replaced?.has(rule.id) !== true
  })
}

/** Sets the tier of a client: as the request says, as somebody was asked for it, or as the rule set has it. */
export function setTier(set: RuleSet, identity: Identity, asked: string | undefined): void {
  identity.tier =
    identity.givenTier ?? asked ?? set.tiers.get(identity) ?? identity.proxyTier ?? set.defaultTier
}

/** Whether a rule that enforces is unlimited for this client. */
export function meetsUnlimited(set: RuleSet, identity: Identity, nowMs: number): boolean {
  return standing(set, set.match(identity)).some(({ index }) => {
    const rule = set.rules[index] as CompiledRule
    return (
      rule.mode === "enforce" && set.limitsFor(rule, identity, identity.tier, nowMs).limits === "unlimited"
    )
  })
}

/** Nothing for a rule that does not apply to this client, or the reason why it denies without counting. */
export function stepOf(
  set: RuleSet,
  rule: CompiledRule,
  identity: Identity,
  matched: MatchedRule,
  nowMs: number,
  cost: number | undefined,
): Step | "deny-list" | "missing-key" | "ambiguous-key" | undefined {
  // What another rule could not read is nothing to this one.
  identity.ambiguity = undefined
  if (rule.deny.get(identity) !== undefined) return "deny-list"
  if (identity.ambiguity !== undefined) return "ambiguous-key"
  if (rule.allow.get(identity) !== undefined) return undefined
  const asked = matched.descriptor?.limit
  const { limits, from } =
    asked === undefined ? set.limitsFor(rule, identity, identity.tier, nowMs) : set.askedLimits(rule, asked)
  if (identity.ambiguity !== undefined) return "ambiguous-key"
  const counted = limits === "unlimited" ? NO_LIMITS : limits
  if (counted.length === 0 && rule.candidate === undefined) return undefined
  // A rule without limits seldom says by what it would count.
  const keyParts =
    asked !== undefined && rule.applying.limits === "unlimited" ? WHOLE_DESCRIPTOR : rule.keyParts
  const key = keyOf(keyParts, identity, matched, rule.onMissingKey)
  if (identity.ambiguity !== undefined) return "ambiguous-key"
  if (key === undefined) return isLeftOut(rule, identity, matched) ? undefined : "missing-key"
  // A check that only looks charges nothing, whatever a descriptor says.
  const units = cost === 0 ? 0 : (matched.cost ?? cost ?? rule.cost(identity))
  if (identity.ambiguity !== undefined) return "ambiguous-key"
  return {
    rule,
    key,
    tier: identity.tier,
    limits: counted,
    from,
    // No policy has a limit of 0; the smallest one, and a cost that never fits it, decide the same.
    cost: asked?.limit === 0 && units > 0 ? Number.MAX_SAFE_INTEGER : units,
    descriptor: matched.at,
  }
}

/**
 * Whether a rule says nothing about a request without its key. Envoy sends descriptors and no address: a rule that is about
 * other requests would deny them all.
 */
function isLeftOut({ onMissingKey }: CompiledRule, identity: Identity, matched: MatchedRule): boolean {
  if (onMissingKey !== "ip") return onMissingKey === "skip"
  return identity.descriptors !== undefined && matched.descriptor === undefined
}

interface Described {
  policies: readonly HeaderPolicy[] | undefined
  readonly further: WeakMap<readonly RuleLimitPolicy[], Described>
}

/** The limits of a plan as headers describe them: the same list for the same limits, so that others may keep it. */
export class HeaderPolicies {
  readonly #described: Described = { policies: [], further: new WeakMap() }
  /** Of the single step asked about last: mostly it is asked about again. */
  #limits: readonly RuleLimitPolicy[] | undefined
  #policies: readonly HeaderPolicy[] = []

  ofOne(step: Step): readonly HeaderPolicy[] {
    if (step.limits !== this.#limits) {
      this.#policies = this.of([step])
      this.#limits = step.limits
    }
    return this.#policies
  }

  of(steps: readonly Step[]): readonly HeaderPolicy[] {
    let described = this.#described
    for (const { limits } of steps) {
      let next = described.further.get(limits)
      if (next === undefined) {
        next = { policies: undefined, further: new WeakMap() }
        described.further.set(limits, next)
      }
      described = next
    }
    described.policies ??= policiesOf(steps)
    return described.policies
  }
}

/** A rule that several descriptors meet is there as often: `api`, `api#2`, so that headers can tell them apart. */
function policiesOf(steps: readonly Step[]): HeaderPolicy[] {
  const taken = new Set<string>()
  return steps.flatMap(({ rule, limits }) =>
    headerPolicies(rule, limits).map((policy) => {
      let { name } = policy
      for (let count = 2; taken.has(name); count++) name = `${policy.name}#${count}`
      taken.add(name)
      return name === policy.name ? policy : { ...policy, name }
    }),
  )
}
