// The plan of a check: which rules apply to a request, under which keys, with which limits and costs.

import { blockPolicy } from "../../algorithms/block.js"
import { isConcurrency } from "../../algorithms/concurrency.js"
import { type HoldId, newHoldId } from "../../stores/hold-id.js"
import { type Charge, type Degraded, penaltyCharge, type Store } from "../../stores/store.js"
import type { ApiKeyHasher } from "../identity/api-key.js"
import { clientOf } from "../identity/client.js"
import type { MatchedRule } from "../identity/descriptor.js"
import { Identity } from "../identity/identity.js"
import { keyOf } from "../identity/key.js"
import type { RuleRequest } from "../identity/rule-request.js"
import { parseKeyPart } from "../language/key-part.js"
import type { Applying, CompiledRule, RuleLimitPolicy } from "./compile-rule.js"
import type { Reason } from "./rule-decision.js"
import { type RuleSet, ruleOf } from "./rule-set.js"

/** One rule that counts a request. */
export interface Step {
  readonly rule: CompiledRule
  readonly key: string
  readonly tier: string | undefined
  readonly limits: readonly RuleLimitPolicy[]
  readonly from: Applying["from"] | "candidate"
  readonly cost: number
  /** What the response says of the cost is multiplied by this: the factor of the model. */
  readonly factor: number
  /** The index of the descriptor that matched the rule. */
  readonly descriptor?: number | undefined
}

export interface Plan {
  /** A decision that needs no counter. */
  readonly early:
    | {
        readonly allowed: boolean
        readonly reason: Reason
        readonly rule?: CompiledRule | undefined
        readonly ambiguous?: string | undefined
      }
    | undefined
  /** Checked together: all are charged, or none. */
  readonly enforced: readonly Step[]
  /** Each checked by itself. None of them ever denies the request. */
  readonly shadows: readonly Step[]
  /** The ids of rules in shadow mode that would deny without counting. */
  readonly shadowDenied: readonly string[]
}

const NO_LIMITS: readonly RuleLimitPolicy[] = []
const EMPTY_PLAN: Plan = { early: undefined, enforced: [], shadows: [], shadowDenied: [] }
const WHOLE_DESCRIPTOR = [parseKeyPart("descriptor", "keyBy")]

function early(allowed: boolean, reason: Reason, rule?: CompiledRule, ambiguous?: string): Plan {
  return { ...EMPTY_PLAN, early: { allowed, reason, rule, ambiguous } }
}

/** The plan of a request whose tier is known. `cost` takes the place of the cost that the rules name. */
export function planOf(set: RuleSet, identity: Identity, nowMs: number, cost: number | undefined): Plan {
  // The ambiguity that reading the tier has found.
  const unclearTier = identity.ambiguity
  identity.ambiguity = undefined
  if (set.deny.get(identity) !== undefined) return early(false, "deny-list")
  if (identity.ambiguity !== undefined) return early(false, "ambiguous-key", undefined, identity.ambiguity)
  if (set.allow.get(identity) !== undefined) return early(true, "allow-list")
  if (identity.badPath !== undefined) return early(false, "bad-path")
  const unclear = unclearTier ?? identity.ambiguity
  if (unclear !== undefined) return early(false, "ambiguous-key", undefined, unclear)
  const enforced: Step[] = []
  const shadows: Step[] = []
  const shadowDenied: string[] = []
  for (const matched of activeRules(set, set.match(identity))) {
    const rule = set.rules[matched.index] as CompiledRule
    const result = stepOf(set, rule, identity, matched, nowMs, cost)
    if (result === undefined) continue
    if (typeof result === "string") {
      const ambiguous = result === "ambiguous-key" ? identity.ambiguity : undefined
      if (rule.mode === "enforce") return early(false, result, rule, ambiguous)
      shadowDenied.push(rule.id)
    } else if (rule.mode === "shadow") shadows.push(result)
    else {
      if (result.limits.length > 0) enforced.push(result)
      if (rule.candidate !== undefined && rule.candidate !== "unlimited")
        shadows.push({ ...result, limits: rule.candidate, from: "candidate" })
    }
  }
  return { early: undefined, enforced, shadows, shadowDenied }
}

/** The plan of a check of one rule under a key by name. A key such as `user:42` names its client, which overrides apply to. */
export function planOfKey(
  set: RuleSet,
  rule: CompiledRule,
  key: string,
  { tier = set.defaultTier, nowMs, cost }: { tier?: string | undefined; nowMs: number; cost: number },
): Plan {
  if (rule.mode === "off") return EMPTY_PLAN
  const { limits, from } = set.limitsFor(rule, clientOf(key), tier, nowMs)
  if (limits === "unlimited") return EMPTY_PLAN
  const steps = [{ rule, key, tier, limits, from, cost, factor: 1 }]
  return rule.mode === "shadow" ? { ...EMPTY_PLAN, shadows: steps } : { ...EMPTY_PLAN, enforced: steps }
}

/** The rules that are not off and that no other rule replaces. A rule in shadow mode replaces none. */
export function activeRules(set: RuleSet, matched: readonly MatchedRule[]): readonly MatchedRule[] {
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

/** Reads a request by the rules of a set. The tier is that of the request, else `found` (by the option `tierOf`), else that of the set. */
export function identify(
  set: RuleSet,
  request: RuleRequest,
  hasher: ApiKeyHasher,
  found: string | undefined,
): Identity {
  const identity = new Identity(request, set.identity, hasher)
  identity.tier =
    identity.givenTier ?? found ?? set.tiers.get(identity) ?? identity.proxyTier ?? set.defaultTier
  return identity
}

/** Whether a rule that applies to the request charges by its body. */
export function readsBody(set: RuleSet, identity: Identity): boolean {
  return (
    set.readsBodies &&
    activeRules(set, set.match(identity)).some(({ index }) => set.rules[index]?.cost.readsBody === true)
  )
}

/** Whether a rule that enforces is unlimited for this client. */
export function matchesUnlimited(set: RuleSet, identity: Identity, nowMs: number): boolean {
  return activeRules(set, set.match(identity)).some(({ index }) => {
    const rule = set.rules[index] as CompiledRule
    return (
      rule.mode === "enforce" && set.limitsFor(rule, identity, identity.tier, nowMs).limits === "unlimited"
    )
  })
}

/** The step of a rule; undefined if it does not apply to this client; or the reason why it denies without counting. */
export function stepOf(
  set: RuleSet,
  rule: CompiledRule,
  identity: Identity,
  matched: MatchedRule,
  nowMs: number,
  cost: number | undefined,
): Step | "deny-list" | "missing-key" | "ambiguous-key" | undefined {
  // An ambiguity that another rule has met does not concern this one.
  identity.ambiguity = undefined
  if (rule.deny.get(identity) !== undefined) return "deny-list"
  if (identity.ambiguity !== undefined) return "ambiguous-key"
  if (rule.allow.get(identity) !== undefined) return undefined
  const own = matched.descriptor?.limit
  const { limits, from } =
    own === undefined ? set.limitsFor(rule, identity, identity.tier, nowMs) : set.descriptorLimits(rule, own)
  if (identity.ambiguity !== undefined) return "ambiguous-key"
  const counted = limits === "unlimited" ? NO_LIMITS : limits
  if (counted.length === 0 && rule.candidate === undefined) return undefined
  // A rule without limits of its own seldom has a `keyBy`: the descriptor that brings a limit is then the key.
  const keyParts =
    own !== undefined && rule.applying.limits === "unlimited" ? WHOLE_DESCRIPTOR : rule.keyParts
  const key = keyOf(keyParts, identity, matched, rule.onMissingKey)
  if (identity.ambiguity !== undefined) return "ambiguous-key"
  if (key === undefined) return isSkipped(rule, identity, matched) ? undefined : "missing-key"
  // A peek (cost 0) charges nothing, whatever cost a descriptor names.
  const units = cost === 0 ? 0 : (matched.cost ?? cost ?? rule.cost.of(identity))
  if (identity.ambiguity !== undefined) return "ambiguous-key"
  return {
    rule,
    key,
    tier: identity.tier,
    limits: counted,
    from,
    // No policy has a limit of 0. A cost that never fits the smallest limit decides the same.
    cost: own?.limit === 0 && units > 0 ? Number.MAX_SAFE_INTEGER : units,
    factor: rule.cost.factor(identity),
    descriptor: matched.at,
  }
}

/**
 * Whether a rule skips a request that lacks its key. Envoy sends descriptors without an address: a rule about other requests
 * would deny them all.
 */
function isSkipped({ onMissingKey }: CompiledRule, identity: Identity, matched: MatchedRule): boolean {
  if (onMissingKey !== "ip") return onMissingKey === "skip"
  return identity.descriptors !== undefined && matched.descriptor === undefined
}

/** The charges of one step, for a call in which they all have the same `onStoreFailure`. */
export function chargesOfStep({ limits, key, cost }: Step): Charge[] {
  return limits.map(({ namespace, policy }) => ({ namespace, key, policy, cost }))
}

/** A hold that an allowed request gets. Whoever knows when the request ends releases it; see `RuleEngine.release`. */
export interface Held {
  readonly charge: Charge & { readonly hold: HoldId }
  readonly rule: CompiledRule
  readonly tier: string | undefined
  readonly isShadow: boolean
}

export interface ShadowCharges {
  readonly charges: readonly Charge[]
  readonly held: readonly Held[]
}

/** The charges of one step in shadow mode, and the holds among them. */
export function chargesOfShadow(step: Step): ShadowCharges {
  const charges = chargesOfStep(step)
  const held: Held[] = []
  const { rule, tier } = step
  for (const [i, charge] of charges.entries()) {
    if (charge.cost === 0 || !isConcurrency(charge.policy)) continue
    const holding = { ...charge, hold: newHoldId() }
    charges[i] = holding
    held.push({ charge: holding, rule, tier, isShadow: true })
  }
  return { charges, held }
}

export interface PlanCharges {
  /** The charges of the limits, in the order of the steps, then the blocks. */
  readonly charges: readonly Charge[]
  /** The holds among them; undefined if there are none. */
  readonly held: readonly Held[] | undefined
  /** The rules whose blocks are among the charges, in their order. */
  readonly blocked: readonly CompiledRule[]
}

/** The charges of steps that are checked together, and the blocks of their keys if the store may have any. */
export function chargesOfSteps(steps: readonly Step[], store: Pick<Store, "mayBlock">): PlanCharges {
  const charges: Charge[] = []
  let held: Held[] | undefined
  for (const { rule, key, limits, cost, tier } of steps) {
    const { onStoreFailure } = rule
    for (const { namespace, policy } of limits) {
      if (cost > 0 && isConcurrency(policy)) {
        const charge = { namespace, key, policy, cost, onStoreFailure, hold: newHoldId() }
        charges.push(charge)
        held ??= []
        held.push({ charge, rule, tier, isShadow: false })
      } else charges.push({ namespace, key, policy, cost, onStoreFailure })
    }
  }
  const blocked: CompiledRule[] = []
  for (const { rule, key } of steps) {
    const { blocks: namespace, onStoreFailure } = rule
    if (!store.mayBlock(namespace)) continue
    blocked.push(rule)
    charges.push({ namespace, key, policy: blockPolicy, cost: 0, onStoreFailure })
  }
  let at = 0
  for (const { rule, limits } of steps) {
    for (const { penalty } of limits) {
      const limit = charges[at++] as Charge
      if (penalty === undefined) continue
      blocked.push(rule)
      charges.push(penaltyCharge(limit, penalty.namespace, penalty.policy))
    }
  }
  return { charges, held, blocked }
}

/** What applies to those charges of a call that do not say it themselves when the store fails. */
export function defaultOnStoreFailure(charges: readonly Charge[]): Degraded {
  return charges[0]?.onStoreFailure ?? "local"
}

const BY_USER = [parseKeyPart("user", "keyBy")]
const UNMATCHED = { index: -1, params: undefined, pattern: undefined }

/** The key that a request of a named client has under a rule, whether it matches or not. Without one, its client is the key. */
export function keyUnder(set: RuleSet, id: string, request: RuleRequest, hasher: ApiKeyHasher): string {
  const { keyParts } = ruleOf(set, id)
  const identity = new Identity(request, set.identity, hasher)
  const matched = set.match(identity).find(({ index }) => set.rules[index]?.id === id) ?? UNMATCHED
  return (
    keyOf(keyParts, identity, matched, "skip") ??
    keyOf(BY_USER, identity, matched, "skip") ??
    `apiKey:${identity.apiKey}`
  )
}
