// A compiled rule set. It never changes: a new revision is a new `RuleSet`, and a decision uses one set from start to end.

import { SluiceError } from "../../errors.js"
import { getOrAdd, getOrCache } from "../../get-or-add.js"
import { type Client, ClientMap, clientList } from "../identity/client.js"
import {
  DescriptorIndex,
  type DescriptorLimit,
  type MatchedRule,
  type WhyMatched,
} from "../identity/descriptor.js"
import type { Identity } from "../identity/identity.js"
import { compileIdentity, type IdentityRules } from "../identity/identity.js"
import { isCredential } from "../language/credential.js"
import type { RuleSetDocument, RuleSpec } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import { type Matcher, matcherSteps } from "../match/index.js"
import { bodyFieldsOf } from "./compile-cost.js"
import {
  type Applying,
  type CompiledRule,
  compileLimits,
  compileRule,
  countersOf,
  type Override,
  type RuleSetContext,
} from "./compile-rule.js"
import { compileOverrides, validOverride } from "./overrides.js"

interface RuleSetParts extends Pick<RuleSet, "identity" | "allow" | "deny" | "tiers" | "rules"> {
  readonly overrides: ClientMap<readonly Override[]>
  readonly matcher: Matcher
  readonly indexes: readonly number[]
  readonly descriptors: DescriptorIndex
}

/** Different limits that descriptors may bring along for one rule before the set forgets them. */
const MAX_DESCRIPTOR_LIMITS = 1_000

export class RuleSet {
  readonly revision: number
  readonly document: RuleSetDocument
  readonly identity: IdentityRules
  readonly allow: ClientMap<string>
  readonly deny: ClientMap<string>
  readonly tiers: ClientMap<string>
  readonly defaultTier: string | undefined
  readonly rules: readonly CompiledRule[]
  /** Whether any rule counts by an API key or another credential. */
  readonly countsApiKeys: boolean
  /** Whether any list, tier or override names an API key by its hash. */
  readonly namesApiKeys: boolean
  /** Whether any rule charges by the bodies of requests. */
  readonly readsBodies: boolean
  /** Whether limits depend on the time. Without overrides a check need not read the clock, which costs as much as the check. */
  readonly hasOverrides: boolean
  readonly #matcher: Matcher
  /** The index in the set of each rule that the matcher knows: those without descriptors. */
  readonly #indexes: readonly number[]
  /** Whether all rules that the matcher knows come first in the set, so that its indexes are those of the set. */
  readonly #arePlainFirst: boolean
  readonly #descriptors: DescriptorIndex
  readonly #overrides: ClientMap<readonly Override[]>
  readonly #byId: ReadonlyMap<string, CompiledRule>
  readonly #context: RuleSetContext
  /** Limits that descriptors bring along, by rule and limit. Equal limits are one object, so that others may memoize by it. */
  readonly #descriptorLimits = new WeakMap<CompiledRule, Map<string, Applying>>()

  private constructor(context: RuleSetContext, revision: number, parts: RuleSetParts) {
    const { document } = context
    this.revision = revision
    this.document = document
    this.identity = parts.identity
    this.allow = parts.allow
    this.deny = parts.deny
    this.tiers = parts.tiers
    this.defaultTier = document.defaults?.tier
    this.rules = parts.rules
    this.readsBodies = this.rules.some(({ cost }) => cost.readsBody)
    this.hasOverrides = (document.overrides?.length ?? 0) > 0
    this.#context = context
    this.#overrides = parts.overrides
    this.#byId = new Map(this.rules.map((rule) => [rule.id, rule]))
    this.#matcher = parts.matcher
    this.#indexes = parts.indexes
    this.#arePlainFirst = this.#indexes.every((index, i) => index === i)
    this.#descriptors = parts.descriptors
    this.countsApiKeys = this.rules.some(({ keyParts }) =>
      keyParts.some(({ kind, name }) => kind === "apiKey" || isCredential(this.identity, kind, name)),
    )
    const lists = this.rules.flatMap(({ allow, deny, overrides }) => [allow, deny, overrides])
    this.namesApiKeys = [this.allow, this.deny, this.tiers, this.#overrides, ...lists].some(
      (clients) => clients.namesApiKeys,
    )
  }

  /** Compiles a document that was checked before: see parse.ts. */
  static *compile(document: RuleSetDocument, revision: number, prefix: string): Steps<RuleSet> {
    const context = { document, prefix, bodyFields: bodyFieldsOf(document) }
    const { forEveryRule, byRule } = yield* compileOverrides(context)
    const rules: CompiledRule[] = []
    for (const [i, rule] of document.rules.entries()) {
      rules.push(yield* compileRule(rule, i, byRule.get(rule.id) ?? new ClientMap(), context))
      yield
    }
    const isPlain = (rule: RuleSpec) => rule.match?.descriptor === undefined
    const indexes = document.rules.flatMap((rule, i) => (isPlain(rule) ? [i] : []))
    const plain = document.rules.filter(isPlain).map((rule) => rule.match ?? {})
    return new RuleSet(context, revision, {
      identity: compileIdentity(document.identity),
      allow: yield* clientList(document.allow, "allow"),
      deny: yield* clientList(document.deny, "deny"),
      tiers: yield* compileTiers(document),
      overrides: forEveryRule,
      rules,
      indexes,
      matcher: yield* matcherSteps(plain, (i) => `rules[${indexes[i]}].match`),
      descriptors: yield* DescriptorIndex.build(document.rules),
    })
  }

  /** Every rule that a request matches, in the order of the set. A rule about descriptors is listed once per descriptor. */
  match(identity: Identity): readonly MatchedRule[] {
    const plain = this.#matcher.match(identity)
    const { descriptors } = identity
    if (descriptors === undefined && this.#arePlainFirst) return plain
    const matched = descriptors === undefined ? [] : this.#descriptors.match(identity.domain, descriptors)
    for (const { index, params, pattern } of plain)
      matched.push({ index: this.#indexes[index] as number, params, pattern })
    return matched.length > 1 ? matched.sort((a, b) => a.index - b.index) : matched
  }

  /** Why a rule matches a request or does not. */
  whyMatched(index: number, identity: Identity): WhyMatched {
    const at = this.#indexes.indexOf(index)
    return at < 0 ? this.#descriptors.explain(index, identity) : this.#matcher.explain(at, identity)
  }

  rule(id: string): CompiledRule | undefined {
    return this.#byId.get(id)
  }

  /** The limits of a rule for a client: those of an override, of its tier, or of the rule itself. */
  limitsFor(rule: CompiledRule, client: Client, tier: string | undefined, nowMs: number): Applying {
    if (this.hasOverrides) {
      const override =
        validOverride(rule.overrides, client, nowMs) ?? validOverride(this.#overrides, client, nowMs)
      if (override !== undefined) return override.limitsFor(rule)
    }
    const ofTier = tier === undefined ? undefined : rule.tiers.get(tier)
    return ofTier ?? rule.applying
  }

  /** The limit that a descriptor brings along, on the counters of the rule. */
  descriptorLimits(rule: CompiledRule, { limit, windowMs }: DescriptorLimit): Applying {
    const known = getOrAdd(this.#descriptorLimits, rule, () => new Map<string, Applying>())
    // Clients may send any number of different limits: they must not fill the memory.
    return getOrCache(known, `${limit}/${windowMs}`, MAX_DESCRIPTOR_LIMITS, () => {
      const spec = { limit: limit === 0 ? 1 : limit, window: windowMs, algorithm: "fixed-window" as const }
      const counters = countersOf(this.#context.prefix, rule.id, rule.mode)
      const limits = compileLimits([spec], counters, "descriptor.limit", this.#context)
      return { limits, from: "override" }
    })
  }
}

/** Clients by tier. A client that several tiers list is in the first of them. */
function* compileTiers(document: RuleSetDocument): Steps<ClientMap<string>> {
  const map = new ClientMap<string>()
  for (const [tier, clients] of Object.entries(document.tiers ?? {})) {
    for (const [i, client] of clients.entries()) {
      map.add(client, tier, `tiers.${tier}[${i}]`)
      yield
    }
  }
  return map
}

/** The rule with this id. Throws if there is none. */
export function ruleOf(set: RuleSet, id: string): CompiledRule {
  const rule = set.rule(id)
  if (rule !== undefined) return rule
  throw new SluiceError("RULE_UNKNOWN", { place: "rule", expected: "must be the id of a rule", found: id })
}
