// A rule set made ready: patterns compiled, numbers worked out, clients indexed. It never changes; a new revision is a new
// one, and decisions under way finish on the one they began with.

import type { HeaderPolicy, HeaderStyle } from "../../header-style.js"
import { parseCidr } from "../../request/address/cidr.js"
import { formatIp } from "../../request/address/ip-address.js"
import type { Degraded } from "../../stores/store.js"
import { Namespace } from "../../stores/store.js"
import { endOf } from "../language/check-rules.js"
import { parseClientName } from "../language/client-name.js"
import { isCredential } from "../language/credential.js"
import { type KeyPart, parseKeyPart } from "../language/key-part.js"
import type { LimitSpec, OverrideSpec, ResponseSpec, RuleSetDocument, RuleSpec } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import { type Matcher, matcherSteps } from "../match/index.js"
import { type Client, ClientMap, clientList } from "./client.js"
import { type CostOf, compileCost } from "./cost.js"
import { DescriptorIndex, type DescriptorLimit, type MatchedRule, type WhyMatched } from "./descriptor.js"
import { compileIdentity, type Identity, type IdentityRules } from "./identity.js"
import type { MissingKey } from "./key.js"
import { compileLimitSet, type LimitSet } from "./limit-set.js"
import { compileSettlement, type Settlement } from "./response-cost.js"
import type { Mode } from "./rule-decision.js"

export interface CompiledRule {
  readonly id: string
  readonly spec: RuleSpec
  readonly mode: Mode
  readonly keyParts: readonly KeyPart[]
  readonly onMissingKey: MissingKey
  readonly onStoreFailure: Degraded
  readonly cost: CostOf
  readonly settlement: Settlement | undefined
  readonly applying: Applying
  readonly tiers: ReadonlyMap<string, Applying>
  readonly candidate: LimitSet | undefined
  /** Ids of the rules whose place it takes. */
  readonly replaces: ReadonlySet<string>
  readonly allow: ClientMap<string>
  readonly deny: ClientMap<string>
  readonly overrides: ClientMap<readonly Override[]>
  /** Where blocks of its keys are kept. */
  readonly blocks: Namespace
  readonly headers: HeaderStyle
  readonly response: ResponseSpec | undefined
}

export interface Override {
  readonly client: string
  /** In milliseconds since 1970; Infinity without an end. */
  readonly until: number
  readonly spec: OverrideSpec
  limitsFor(rule: CompiledRule): Applying
}

/** Which limits of a rule apply to a client, and why these. Made once, as every decision asks for them. */
export interface Applying {
  readonly limits: LimitSet
  readonly from: "rule" | "tier" | "override"
}

/** What a rule set is made of once it is compiled. */
interface RuleSetParts {
  readonly identity: IdentityRules
  readonly allow: ClientMap<string>
  readonly deny: ClientMap<string>
  readonly tiers: ClientMap<string>
  /** Those for every rule. */
  readonly overrides: ClientMap<readonly Override[]>
  readonly rules: readonly CompiledRule[]
  readonly indexes: readonly number[]
  readonly matcher: Matcher
  readonly descriptors: DescriptorIndex
}

/** Different limits that descriptors have asked for, of one rule. */
const MOST_ASKED = 1_000

export class RuleSet {
  readonly revision: number
  readonly document: RuleSetDocument
  readonly identity: IdentityRules
  readonly allow: ClientMap<string>
  readonly deny: ClientMap<string>
  readonly tiers: ClientMap<string>
  readonly defaultTier: string | undefined
  readonly rules: readonly CompiledRule[]
  readonly #matcher: Matcher
  /** The index in the set of each rule that the matcher knows. */
  readonly #indexes: readonly number[]
  /** Whether all that the matcher knows stand before those about descriptors: what it says is right as it is. */
  readonly #arePlainFirst: boolean
  readonly #descriptors: DescriptorIndex
  /** Whether any rule counts by an API key, or another credential. */
  readonly countsApiKeys: boolean
  /** Whether any list, tier or override names an API key by its hash. */
  readonly namesApiKeys: boolean
  /** Whether time matters to which limits apply: reading the clock costs as much as a small check. */
  readonly hasOverrides: boolean
  readonly #overrides: ClientMap<readonly Override[]>
  readonly #byId: ReadonlyMap<string, CompiledRule>
  readonly #prefix: string
  /** By rule, and by what was asked for. The same list for the same limit, so that others may keep it. */
  readonly #asked = new WeakMap<CompiledRule, Map<string, Applying>>()

  private constructor(document: RuleSetDocument, revision: number, prefix: string, parts: RuleSetParts) {
    this.revision = revision
    this.document = document
    this.#prefix = prefix
    this.identity = parts.identity
    this.allow = parts.allow
    this.deny = parts.deny
    this.tiers = parts.tiers
    this.defaultTier = document.defaults?.tier
    this.#overrides = parts.overrides
    this.hasOverrides = (document.overrides?.length ?? 0) > 0
    this.rules = parts.rules
    this.#byId = new Map(this.rules.map((rule) => [rule.id, rule]))
    this.#indexes = parts.indexes
    this.#arePlainFirst = this.#indexes.every((index, i) => index === i)
    this.#matcher = parts.matcher
    this.#descriptors = parts.descriptors
    this.countsApiKeys = this.rules.some(({ keyParts }) =>
      keyParts.some(({ kind, name }) => kind === "apiKey" || isCredential(this.identity, kind, name)),
    )
    const lists = this.rules.flatMap(({ allow, deny, overrides: own }) => [allow, deny, own])
    this.namesApiKeys = [this.allow, this.deny, this.tiers, this.#overrides, ...lists].some(
      (clients) => clients.namesApiKeys,
    )
  }

  /** `document` was checked before: see parse.ts. */
  static *compile(document: RuleSetDocument, revision: number, prefix: string): Steps<RuleSet> {
    const { everywhere, byRule } = yield* groupOverrides(document, prefix)
    const rules: CompiledRule[] = []
    for (const [i, rule] of document.rules.entries()) {
      const overrides = byRule.get(rule.id) ?? new ClientMap()
      rules.push(yield* compileRule(rule, document, prefix, `rules[${i}]`, overrides))
      yield
    }
    const isPlain = (rule: RuleSpec) => rule.match?.descriptor === undefined
    const indexes = document.rules.flatMap((rule, i) => (isPlain(rule) ? [i] : []))
    const plain = document.rules.filter(isPlain).map((rule) => rule.match ?? {})
    return new RuleSet(document, revision, prefix, {
      identity: compileIdentity(document.identity),
      allow: yield* clientList(document.allow, "allow"),
      deny: yield* clientList(document.deny, "deny"),
      tiers: yield* tierMap(document),
      overrides: everywhere,
      rules,
      indexes,
      matcher: yield* matcherSteps(plain, (i) => `rules[${indexes[i]}].match`),
      descriptors: yield* DescriptorIndex.build(document.rules),
    })
  }

  /** Every rule the request meets: once, and rules about descriptors once for each descriptor that meets them. */
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

  limitsFor(rule: CompiledRule, client: Client, tier: string | undefined, nowMs: number): Applying {
    if (this.hasOverrides) {
      const override = valid(rule.overrides, client, nowMs) ?? valid(this.#overrides, client, nowMs)
      if (override !== undefined) return override.limitsFor(rule)
    }
    const own = tier === undefined ? undefined : rule.tiers.get(tier)
    return own ?? rule.applying
  }

  /** The limit a descriptor brings along, on the counters of the rule. */
  askedLimits(rule: CompiledRule, { limit, windowMs }: DescriptorLimit): Applying {
    const known = this.#asked.get(rule) ?? new Map<string, Applying>()
    this.#asked.set(rule, known)
    const name = `${limit}/${windowMs}`
    let applying = known.get(name)
    if (applying === undefined) {
      const spec = { limit: limit === 0 ? 1 : limit, window: windowMs, algorithm: "fixed-window" as const }
      const namespaces = namespacesOf(this.#prefix, rule.id, rule.mode)
      applying = {
        limits: compileLimitSet([spec], namespaces, "descriptor.limit", this.#prefix),
        from: "override",
      }
      // Whoever may ask for any limit must not fill the memory by it.
      if (known.size >= MOST_ASKED) known.clear()
      known.set(name, applying)
    }
    return applying
  }
}

/** A rule that only looks has counters of its own: what it saw is not held against anybody once it is enforced. */
function namespacesOf(prefix: string, id: string, mode: Mode): string {
  return `${prefix}:${id}${mode === "shadow" ? "~" : ""}`
}

/** The first override of a client that has not ended, by whichever of its names it is found. */
function valid(
  overrides: ClientMap<readonly Override[]>,
  client: Client,
  nowMs: number,
): Override | undefined {
  const isValid = (override: Override) => nowMs < override.until
  return overrides.get(client, (list) => list.some(isValid))?.find(isValid)
}

function* compileRule(
  spec: RuleSpec,
  document: RuleSetDocument,
  prefix: string,
  place: string,
  overrides: ClientMap<readonly Override[]>,
): Steps<CompiledRule> {
  const { defaults = {} } = document
  const mode = spec.mode ?? "enforce"
  const keyBy = spec.keyBy ?? defaults.keyBy ?? "ip"
  const namespaces = namespacesOf(prefix, spec.id, mode)
  const compile = (limits: readonly LimitSpec[] | "unlimited", where: string) =>
    compileLimits(limits, document, namespaces, `${place}.${where}`, prefix)
  const tiers = new Map<string, Applying>()
  for (const [tier, own] of Object.entries(spec.tiers ?? {})) {
    const limits = compile(own === "unlimited" ? own : own.limits, `tiers.${tier}.limits`)
    tiers.set(tier, { limits, from: "tier" })
    yield
  }
  return {
    id: spec.id,
    spec,
    mode,
    keyParts: (typeof keyBy === "string" ? [keyBy] : keyBy).map((part, i) =>
      parseKeyPart(part, `${place}.keyBy[${i}]`),
    ),
    onMissingKey: spec.onMissingKey ?? defaults.onMissingKey ?? "ip",
    onStoreFailure: spec.onStoreFailure ?? defaults.onStoreFailure ?? "local",
    cost: yield* compileCost(spec.cost, `${place}.cost`),
    settlement: compileSettlement(spec),
    applying: { limits: compile(spec.limits, "limits"), from: "rule" },
    tiers,
    candidate:
      spec.candidate === undefined
        ? undefined
        : compileLimits(
            spec.candidate.limits,
            document,
            `${prefix}:${spec.id}~c`,
            `${place}.candidate.limits`,
            prefix,
          ),
    replaces: new Set(spec.replaces),
    allow: yield* clientList(spec.allow, `${place}.allow`),
    deny: yield* clientList(spec.deny, `${place}.deny`),
    overrides,
    blocks: new Namespace(`${prefix}:${spec.id}:block`, prefix),
    headers: spec.headers ?? defaults.headers ?? "both",
    response: spec.response ?? defaults.response,
  }
}

function compileLimits(
  limits: readonly LimitSpec[] | "unlimited",
  document: RuleSetDocument,
  namespaces: string,
  place: string,
  prefix: string,
): LimitSet {
  if (limits === "unlimited") return limits
  const algorithm = document.defaults?.algorithm
  const complete = algorithm === undefined ? limits : limits.map((limit) => ({ algorithm, ...limit }))
  return compileLimitSet(complete, namespaces, place, prefix)
}

/** The first tier that lists a client is its tier. */
function* tierMap(document: RuleSetDocument): Steps<ClientMap<string>> {
  const map = new ClientMap<string>()
  for (const [tier, clients] of Object.entries(document.tiers ?? {})) {
    for (const [i, client] of clients.entries()) {
      map.add(client, tier, `tiers.${tier}[${i}]`)
      yield
    }
  }
  return map
}

interface GroupedOverrides {
  readonly everywhere: ClientMap<readonly Override[]>
  readonly byRule: ReadonlyMap<string, ClientMap<readonly Override[]>>
}

/** Overrides for every rule, and those for one rule by its id. Several for one client are kept in their order. */
function* groupOverrides(document: RuleSetDocument, prefix: string): Steps<GroupedOverrides> {
  const lists = new Map<string | undefined, Map<string, Override[]>>()
  for (const spec of document.overrides ?? []) {
    const ids =
      spec.rule === undefined ? [undefined] : typeof spec.rule === "string" ? [spec.rule] : spec.rule
    const override = compileOverride(spec, document, prefix)
    const name = oneName(spec.client)
    for (const id of ids) {
      const clients = lists.get(id) ?? new Map<string, Override[]>()
      lists.set(id, clients)
      const own = clients.get(name)
      if (own === undefined) clients.set(name, [override])
      else own.push(override)
      yield
    }
  }
  const byRule = new Map<string, ClientMap<readonly Override[]>>()
  for (const [id, clients] of lists) if (id !== undefined) byRule.set(id, yield* overrideMap(clients))
  return { everywhere: yield* overrideMap(lists.get(undefined)), byRule }
}

function* overrideMap(
  clients: ReadonlyMap<string, readonly Override[]> | undefined,
): Steps<ClientMap<readonly Override[]>> {
  const map = new ClientMap<readonly Override[]>()
  for (const [client, overrides] of clients ?? []) {
    map.add(client, overrides, "overrides")
    yield
  }
  return map
}

/** `ip:10.0.0.1` and `ip:10.0.0.1/32` are one client, whose overrides belong into one list. */
function oneName(client: string): string {
  const { kind, value } = parseClientName(client, "overrides")
  if (kind !== "ip") return client
  const { address, prefix } = parseCidr(value, "overrides")
  return `ip:${formatIp(address)}/${prefix}`
}

function compileOverride(spec: OverrideSpec, document: RuleSetDocument, prefix: string): Override {
  const compiled = new Map<string, Applying>()
  return {
    client: spec.client,
    until: spec.until === undefined ? Number.POSITIVE_INFINITY : (endOf(spec.until) ?? 0),
    spec,
    limitsFor({ id, mode }) {
      // The counters of the rule itself: an override that ends leaves its client with what it has used.
      const namespaces = namespacesOf(prefix, id, mode)
      let applying = compiled.get(namespaces)
      if (applying === undefined) {
        const limits = compileLimits(spec.limits, document, namespaces, "overrides.limits", prefix)
        applying = { limits, from: "override" }
        compiled.set(namespaces, applying)
      }
      return applying
    },
  }
}

/** What the headers of a rule's limits always say. */
export function headerPolicies(rule: CompiledRule, limits: LimitSet): HeaderPolicy[] {
  if (limits === "unlimited") return []
  return limits.map(({ name, policy, windowMs }) => ({
    name: limitLabel(rule, limits, name),
    quota: policy.limit,
    windowMs,
  }))
}

/** A limit's name where limits of several rules meet. The only limit of a rule goes by the rule's name. */
function limitLabel(rule: CompiledRule, limits: Exclude<LimitSet, "unlimited">, name: string): string {
  return limits.length === 1 ? rule.id : `${rule.id}/${name}`
}
