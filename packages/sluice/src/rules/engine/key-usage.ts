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
}

/** The usage of each limit of a step. Undefined if the store cannot tell. */
export async function usageOfStep(
  step: Step,
  store: Store,
  at: number | undefined,
): Promise<LimitUsage[] | undefined> {
  const usages = await store.usage?.(chargesOfStep(step), at)
  return usages?.map((usage, i) => ({ name: step.limits[i]?.name ?? "", ...inMilliseconds(usage) }))
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
