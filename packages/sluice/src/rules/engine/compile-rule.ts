// One rule made ready: its numbers worked out, its patterns and clients indexed.

import type { Policy } from "../../algorithms/algorithm.js"
import type { HeaderStyle } from "../../header-style.js"
import type { LeaseOptions } from "../../lease-options.js"
import { checkDistinct, compileLimit } from "../../limiter/limiter-options.js"
import type { LimitOptions } from "../../policy.js"
import { type Degraded, Namespace, type Overdraft, penaltyNamespace } from "../../stores/store.js"
import { weightsOf } from "../../usage/fields.js"
import type { FieldNode } from "../../usage/json-scanner.js"
import { type ClientMap, clientList } from "../identity/client.js"
import type { MissingKey } from "../identity/key.js"
import { withDefaults } from "../language/check-limits.js"
import { type KeyPart, parseKeyPart } from "../language/key-part.js"
import type { LimitSpec, ResponseSpec, RuleSetDocument, RuleSpec } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import { compileCost, MAX_COST, type RuleCost } from "./compile-cost.js"
import type { Mode } from "./rule-decision.js"

export interface CompiledRule {
  readonly id: string
  readonly spec: RuleSpec
  readonly mode: Mode
  readonly keyParts: readonly KeyPart[]
  readonly onMissingKey: MissingKey
  readonly onStoreFailure: Degraded
  readonly cost: RuleCost
  readonly responseCharge: ResponseCharge | undefined
  readonly leases: LeaseOptions
  readonly applying: Applying
  readonly tiers: ReadonlyMap<string, Applying>
  readonly candidate: LimitSet | undefined
  /** The ids of the rules that this rule replaces. */
  readonly replaces: ReadonlySet<string>
  readonly allow: ClientMap<string>
  readonly deny: ClientMap<string>
  readonly overrides: ClientMap<readonly Override[]>
  /** The namespace of the blocks of its keys. */
  readonly blocks: Namespace
  readonly headers: HeaderStyle
  readonly response: ResponseSpec | undefined
}

export interface RuleLimitPolicy {
  readonly name: string
  readonly policy: Policy
  readonly namespace: Namespace
  /** The blocks of keys that it has denied too often. */
  readonly penalty: { readonly namespace: Namespace; readonly policy: Policy } | undefined
  readonly windowMs: number
}

/** `"unlimited"`: the rule matches and counts nothing. */
type LimitSet = readonly RuleLimitPolicy[] | "unlimited"

/** The limits of a rule that apply to a client, and where they come from. */
export interface Applying {
  readonly limits: LimitSet
  readonly from: "rule" | "tier" | "override"
}

/** What a rule reads from the response. */
export interface ResponseCharge {
  readonly refundOn: ReadonlySet<number>
  /** The header or trailer with the cost. */
  readonly header: string | undefined
  /** The fields of the body with the cost, by weight. Empty if the rule reads none. */
  readonly fields: ReadonlyMap<string, number>
  readonly max: number
  /** What happens if the response costs more than the estimate. */
  readonly overdraft: Overdraft
}

/** Other limits for one client. */
export interface Override {
  /** In milliseconds since 1970; Infinity without an end. */
  readonly until: number
  limitsFor(rule: CompiledRule): Applying
}

/** What the rules of one set have in common. */
export interface RuleSetContext {
  readonly document: RuleSetDocument
  /** Keeps the counters of engines that share a store apart. */
  readonly prefix: string
  /** What the rules read in the bodies of requests. */
  readonly bodyFields: FieldNode
}

export function* compileRule(
  spec: RuleSpec,
  index: number,
  overrides: ClientMap<readonly Override[]>,
  context: RuleSetContext,
): Steps<CompiledRule> {
  const { document, prefix } = context
  const { defaults = {} } = document
  const place = `rules[${index}]`
  const mode = spec.mode ?? "enforce"
  const keyBy = spec.keyBy ?? defaults.keyBy ?? "ip"
  const leases = (spec.leases ?? defaults.leases ?? false) as LeaseOptions
  const counters = countersOf(prefix, spec.id, mode)
  const tiers = new Map<string, Applying>()
  for (const [tier, own] of Object.entries(spec.tiers ?? {})) {
    const tierLimits = own === "unlimited" ? own : own.limits
    const limits = compileLimits(tierLimits, counters, `${place}.tiers.${tier}.limits`, context, leases)
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
    cost: yield* compileCost(spec.cost, context.bodyFields, `${place}.cost`),
    responseCharge: compileResponseCharge(spec),
    leases,
    applying: {
      limits: compileLimits(spec.limits, counters, `${place}.limits`, context, leases),
      from: "rule",
    },
    tiers,
    candidate:
      spec.candidate === undefined
        ? undefined
        : compileLimits(
            spec.candidate.limits,
            `${prefix}:${spec.id}~c`,
            `${place}.candidate.limits`,
            context,
            leases,
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

/**
 * The start of the names of a rule's counters. A rule in shadow mode has counters of its own, so that what it counted is not
 * held against anybody once it is enforced.
 */
export function countersOf(prefix: string, id: string, mode: Mode): string {
  return `${prefix}:${id}${mode === "shadow" ? "~" : ""}`
}

/**
 * Compiles the limits of a rule, of one of its tiers, or of an override. Counters are known by rule, name (or window) and
 * algorithm: a limit that somebody raises or lowers keeps its counts, and a client that changes its tier keeps its counters.
 */
export function compileLimits(
  limits: readonly LimitSpec[] | "unlimited",
  counters: string,
  place: string,
  { document, prefix }: RuleSetContext,
  leases?: LeaseOptions,
): LimitSet {
  if (limits === "unlimited") return limits
  const { defaults = {} } = document
  const compiled = limits.map((limit, i) => {
    const complete = withDefaults(limit, defaults)
    return compileLimit(complete as LimitOptions, `${place}[${i}]`, counters, leases)
  })
  checkDistinct(compiled, place)
  return compiled.map(({ name, policy, penalty, ...limit }) => {
    const namespace = new Namespace(limit.namespace, prefix)
    return {
      name,
      policy,
      namespace,
      penalty: penalty && { namespace: penaltyNamespace(namespace), policy: penalty },
      windowMs: policy.windowMs,
    }
  })
}

/** Undefined for a rule that does not depend on the response. */
function compileResponseCharge({ cost, refundOn }: RuleSpec): ResponseCharge | undefined {
  const {
    responseHeader,
    responseJson,
    max = MAX_COST,
    overdraft = "forgive",
  } = typeof cost === "object" ? cost : {}
  if (refundOn === undefined && responseHeader === undefined && responseJson === undefined) return undefined
  const listed = Array.isArray(refundOn) ? refundOn : refundOn === undefined ? [] : [refundOn]
  return {
    refundOn: new Set([...new Set(listed)].flatMap(statuses)),
    header: responseHeader?.toLowerCase(),
    fields: weightsOf(responseJson),
    max,
    overdraft,
  }
}

/** `404` is itself, `5xx` is 500 to 599. */
function statuses(status: number | string): number[] {
  if (typeof status === "number") return [status]
  const first = Number(status[0]) * 100
  return Array.from({ length: 100 }, (_, i) => first + i)
}
