import type { Store, Usage } from "../../stores/store.js"
import { chargesOfStep, type Step } from "./plan.js"

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

/** The usage of each limit of a step. Undefined if the store cannot tell. */
export async function usageOfStep(
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
