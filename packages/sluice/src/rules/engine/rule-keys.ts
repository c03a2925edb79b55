// What operators ask and change about one key of a rule, by name: `user:42` under the rule `api`, for example.

import { blockPolicy } from "../../algorithms/block.js"
import { checkKey, costOf } from "../../call-options.js"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import type { Charge, Store, Usage } from "../../stores/store.js"
import { type BlockedRuleKeys, blockByHand, blockedKeys, blocksOfKey } from "./blocked-keys.js"
import type { Decider, PlannedCheck } from "./decider.js"
import type { KeyCheckOptions } from "./engine-options.js"
import { chargesOfStep, defaultOnStoreFailure, planOfKey, type Step } from "./plan.js"
import { type RuleSet, ruleOf } from "./rule-set.js"

/** What a key is charged under one limit of a rule. Times are in milliseconds since 1970, exact to a microsecond. */
export interface LimitUsage {
  readonly name: string
  /** Units that count now. After a charge that was not decided they may exceed the limit. */
  readonly used: number
  /** Sliding window log: when the oldest and the newest unit that count were charged. */
  readonly oldestAt?: number
  readonly newestAt?: number
  /** Fixed window and sliding window counter: the buckets with units, newest first. */
  readonly buckets?: readonly {
    readonly startsAt: number
    readonly lengthMs: number
    readonly units: number
  }[]
  /** A limit with a penalty: the block in force, if there is one, and the denials and blocks that count. */
  readonly penalty?: {
    readonly blockedSince?: number
    readonly blockedUntil?: number
    readonly denials: number
    readonly blocks: number
  }
}

/** The tier of a key. A tier whose limits have another window or algorithm has other counters. */
interface OfTier {
  tier?: string
}

export class RuleKeys {
  readonly #decider: Decider
  readonly #prefix: string
  readonly #currentSet: () => RuleSet

  constructor(decider: Decider, prefix: string, currentSet: () => RuleSet) {
    this.#decider = decider
    this.#prefix = prefix
    this.#currentSet = currentSet
  }

  /** A check of one rule under a key. */
  plan(id: string, key: string, options: KeyCheckOptions | undefined): PlannedCheck {
    const set = this.#currentSet()
    const rule = ruleOf(set, id)
    checkKey(key)
    const nowMs = this.#decider.nowMs(options)
    const plan = planOfKey(set, rule, key, { tier: options?.tier, nowMs, cost: costOf(options?.cost) })
    return { set, plan, tier: options?.tier, options }
  }

  /** Gives back what the rule has charged the key. */
  async refund(rule: string, key: string, cost: number, options: OfTier | undefined): Promise<void> {
    const charges = this.#charges(rule, key, { ...options, cost: costOf(cost) })
    await this.#decider.store.refund(charges, this.#at(), defaultOnStoreFailure(charges))
  }

  /** What the key is charged under each limit of the rule. Undefined if the store cannot tell. */
  async usage(rule: string, key: string, options: OfTier | undefined): Promise<LimitUsage[] | undefined> {
    const { enforced, shadows } = this.plan(rule, key, { ...options, cost: 0 }).plan
    const step = [...enforced, ...shadows].find(({ from }) => from !== "candidate")
    return step === undefined ? [] : await usageOfStep(step, this.#decider.store, this.#at())
  }

  /** Forgets what the rule has charged the key. */
  async reset(rule: string, key: string, options: OfTier | undefined): Promise<void> {
    const charges = this.#charges(rule, key, { ...options, cost: 0 })
    await this.#decider.store.reset(charges, defaultOnStoreFailure(charges))
  }

  /** Since when and until when `block` denies the key. Undefined if it does not, or the store cannot tell. */
  async blockOf(rule: string, key: string): ReturnType<typeof blockByHand> {
    checkKey(key)
    return await blockByHand(ruleOf(this.#currentSet(), rule), key, this.#decider.store, this.#at())
  }

  /** Denies the key for a while. */
  async block(rule: string, key: string, duration: Duration): Promise<void> {
    checkKey(key)
    const { blocks } = ruleOf(this.#currentSet(), rule)
    const cost = Math.round(parseDuration(duration, "blockKey") * 1000)
    const charge = { namespace: blocks, key, policy: blockPolicy, cost }
    await this.#decider.store.charge([charge], this.#at())
  }

  /** Ends every block of the key, and forgets what penalties have counted. */
  async unblock(rule: string, key: string): Promise<void> {
    checkKey(key)
    const { enforced } = this.plan(rule, key, { cost: 0 }).plan
    const applying = enforced.flatMap(({ limits }) => limits)
    await this.#decider.store.reset(blocksOfKey(ruleOf(this.#currentSet(), rule), key, applying))
  }

  /** The keys of all rules that are blocked now, at most `max`. Undefined if the store cannot tell. */
  async blocked(max: number): Promise<BlockedRuleKeys | undefined> {
    const { store } = this.#decider
    const nowMs = this.#decider.nowMs(undefined)
    return await blockedKeys(this.#currentSet(), store, this.#prefix, max, this.#at(), nowMs)
  }

  #charges(rule: string, key: string, options: KeyCheckOptions): Charge[] {
    const { enforced, shadows } = this.plan(rule, key, options).plan
    return [...enforced, ...shadows].flatMap(chargesOfStep)
  }

  #at(): number | undefined {
    return this.#decider.at(undefined)
  }
}

/** The usage of each limit of a step. Undefined if the store cannot tell. */
async function usageOfStep(
  step: Step,
  store: Store,
  at: number | undefined,
): Promise<LimitUsage[] | undefined> {
  const limits = chargesOfStep(step)
  const penalties = step.limits.flatMap(({ penalty }) =>
    penalty ? [{ ...penalty, key: step.key, cost: 0 }] : [],
  )
  const usages = await store.usage?.([...limits, ...penalties], at)
  let next = limits.length
  return usages?.slice(0, limits.length).map((usage, i) => {
    const { name = "", penalty } = step.limits[i] ?? {}
    const block = penalty === undefined ? undefined : usages[next++]?.block
    return {
      name,
      ...inMilliseconds(usage),
      ...(block === undefined ? {} : { penalty: penaltyUsage(block) }),
    }
  })
}

function penaltyUsage({
  since,
  until,
  denials,
  blocks,
}: NonNullable<Usage["block"]>): NonNullable<LimitUsage["penalty"]> {
  if (since === undefined || until === undefined) return { denials, blocks }
  return { blockedSince: since / 1000, blockedUntil: until / 1000, denials, blocks }
}

function inMilliseconds({ used, oldest, newest, buckets }: Usage): Omit<LimitUsage, "name"> {
  return {
    used,
    ...(oldest === undefined ? {} : { oldestAt: oldest / 1000 }),
    ...(newest === undefined ? {} : { newestAt: newest / 1000 }),
    ...(buckets === undefined
      ? {}
      : {
          buckets: buckets.map(({ start, length, units }) => {
            return { startsAt: start / 1000, lengthMs: length / 1000, units }
          }),
        }),
  }
}
