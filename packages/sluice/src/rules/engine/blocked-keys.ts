// Which keys are blocked under the rules of a set, by a penalty or by an operator.

import type { Policy } from "../../algorithms/algorithm.js"
import { blockPolicy } from "../../algorithms/block.js"
import { checkType } from "../../options.js"
import type { BlockedKey, Charge, Namespace, Store } from "../../stores/store.js"
import type { Applying, CompiledRule, RuleLimitPolicy } from "./compile-rule.js"
import type { RuleSet } from "./rule-set.js"

/** A key that a rule denies until a time. Times are in milliseconds since 1970, exact to a microsecond. */
export interface BlockedRuleKey {
  readonly rule: string
  readonly key: string
  readonly blockedSince: number
  readonly blockedUntil: number
  /** How long it stays blocked. */
  readonly blockedForMs: number
  /** The name of the limit whose penalty blocks the key. Undefined if somebody has blocked it by hand. */
  readonly limit?: string | undefined
  /** How many denials begin a block of that limit. */
  readonly denials?: number | undefined
  /** How many blocks of the key were before this one and count. */
  readonly earlier?: number | undefined
}

export interface BlockedRuleKeys {
  /** Those that last longest come first. A key that is blocked by hand and by a penalty is listed for both. */
  readonly keys: readonly BlockedRuleKey[]
  /** False if there may be more. */
  readonly isComplete: boolean
}

/** The keys that rules of this set deny now. Undefined if the store cannot tell. Blocks of rules that are gone deny nobody. */
export async function blockedKeys(
  set: RuleSet,
  store: Store,
  prefix: string,
  max: number,
  at: number | undefined,
  nowMs: number,
): Promise<BlockedRuleKeys | undefined> {
  checkType(max, "blockedKeys", "a whole number ≥ 1", (value) => Number.isSafeInteger(value) && max >= 1)
  const listed = await store.blocked?.(prefix, max, at)
  if (listed === undefined) return undefined
  const keys = listed.keys.flatMap((blocked) => ruleKey(set, prefix, blocked, nowMs) ?? [])
  return { keys, isComplete: listed.isComplete }
}

/** Reads the rule and the limit from the name of the namespace: `prefix:rule:block`, or `prefix:rule:shape:limit:penalty`. */
function ruleKey(
  set: RuleSet,
  prefix: string,
  blocked: BlockedKey,
  nowMs: number,
): BlockedRuleKey | undefined {
  const { namespace, key, since, until, blocks } = blocked
  const name = namespace.slice(prefix.length + 1)
  const rule = set.rule(name.slice(0, name.indexOf(":")))
  if (rule?.mode !== "enforce") return undefined
  const blockedUntil = until / 1000
  const times = { blockedSince: since / 1000, blockedUntil, blockedForMs: Math.max(0, blockedUntil - nowMs) }
  if (rule.blocks.name === namespace) return { rule: rule.id, key, ...times }
  const limit = penalizedLimits(rule).find(({ penalty }) => penalty?.namespace.name === namespace)
  // The limit of an override is known by its counters only.
  const limitName = limit?.name ?? name.split(":").slice(2, -1).join(":")
  const denials = limit?.penalty?.policy.penalty?.after
  return { rule: rule.id, key, ...times, limit: limitName, denials, earlier: Math.max(0, blocks - 1) }
}

/** The block of a key by hand, and its blocks by the penalties of every limit of the rule, whatever the tier of its client. */
export function blocksOfKey(rule: CompiledRule, key: string, applying: readonly RuleLimitPolicy[]): Charge[] {
  const blocks = new Map<string, { readonly namespace: Namespace; readonly policy: Policy }>()
  blocks.set(rule.blocks.name, { namespace: rule.blocks, policy: blockPolicy })
  for (const { penalty } of [...penalizedLimits(rule), ...applying])
    if (penalty !== undefined) blocks.set(penalty.namespace.name, penalty)
  return Array.from(blocks.values(), (block) => ({ ...block, key, cost: 0 }))
}

function penalizedLimits({ applying, tiers }: CompiledRule): RuleLimitPolicy[] {
  return [applying, ...tiers.values()]
    .flatMap(({ limits }: Applying) => (limits === "unlimited" ? [] : limits))
    .filter(({ penalty }) => penalty !== undefined)
}

/** Since when and until when somebody has blocked a key by hand, in milliseconds. Undefined if nobody has, or the store cannot tell. */
export async function blockByHand(
  { blocks: namespace }: CompiledRule,
  key: string,
  store: Store,
  at: number | undefined,
): Promise<Pick<BlockedRuleKey, "blockedSince" | "blockedUntil"> | undefined> {
  const usages = await store.usage?.([{ namespace, key, policy: blockPolicy, cost: 0 }], at)
  const { since, until } = usages?.[0]?.block ?? {}
  if (since === undefined || until === undefined) return undefined
  return { blockedSince: since / 1000, blockedUntil: until / 1000 }
}
