// Several real processes on one key with `local`: how much do they admit together while Redis is away?

import { startPool } from "../support/process-pool.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { worstWindow } from "./figures.js"

export interface FleetPlan {
  readonly name: string
  readonly algorithm: "sliding-window-log" | "fixed-window"
  readonly fault: "frozen" | "killed"
  readonly quick: boolean
}

export interface FleetFigures {
  readonly fleet: string
  readonly instances: number
  readonly limit: number
  readonly windowMs: number
  readonly checks: number
  readonly degraded: number
  readonly ambiguous: number
  /** The most admitted in a window, by all instances together: before the fault, long into it, and at any time at all. */
  readonly healthy: number
  readonly steady: number
  readonly change: number
}

export const fleets: readonly FleetPlan[] = [
  { name: "sliding log, Redis frozen", algorithm: "sliding-window-log", fault: "frozen", quick: true },
  { name: "fixed window, Redis frozen", algorithm: "fixed-window", fault: "frozen", quick: false },
  {
    name: "sliding log, Redis killed and emptied",
    algorithm: "sliding-window-log",
    fault: "killed",
    quick: false,
  },
]

const INSTANCES = 4
/** Not divisible by the instances, so that rounding of the shares shows. */
const LIMIT = 102
const WINDOW_MS = 1_000
const HEALTHY_MS = 2_200
const AWAY_MS = 4_500
const AFTER_MS = 2_500
const PER_SECOND = 150
/** By then the breaker of every instance is open. */
const OPEN_WITHIN_MS = 350

interface Instance {
  readonly admittedAt: readonly number[]
  readonly checks: number
  readonly degraded: number
  readonly ambiguous: number
}

export async function measureFleet({ name, algorithm, fault }: FleetPlan): Promise<FleetFigures> {
  const redis = await startRedis()
  try {
    const durationMs = HEALTHY_MS + AWAY_MS + AFTER_MS
    const job = {
      url: redis.url,
      instances: INSTANCES,
      algorithm,
      limit: LIMIT,
      windowMs: WINDOW_MS,
      perSecond: PER_SECOND,
      durationMs,
    }
    const pool = await startPool<Instance>({
      script: new URL("./fixtures/fleet-instance.mjs", import.meta.url),
      jobs: Array.from({ length: INSTANCES }, () => job),
    })
    const running = pool.run()
    const { struckAt, mendingAt } = await breakFor(redis, fault)
    const instances = await running

    const admittedAt = instances.flatMap((instance) => instance.admittedAt)
    const between = (from: number, to: number): number[] => admittedAt.filter((at) => at >= from && at < to)
    const most = algorithm === "fixed-window" ? fullestWindow : slidingMost
    const sum = (of: (instance: Instance) => number): number =>
      instances.reduce((total, one) => total + of(one), 0)
    return {
      fleet: name,
      instances: INSTANCES,
      limit: LIMIT,
      windowMs: WINDOW_MS,
      checks: sum(({ checks }) => checks),
      degraded: sum(({ degraded }) => degraded),
      ambiguous: sum(({ ambiguous }) => ambiguous),
      healthy: most(between(0, struckAt)),
      // One window after the change, admissions from before it no longer count.
      steady: most(between(struckAt + WINDOW_MS + OPEN_WITHIN_MS, mendingAt)),
      change: most(admittedAt),
    }
  } finally {
    await redis.stop()
  }
}

async function breakFor(
  redis: RedisServer,
  fault: FleetPlan["fault"],
): Promise<{ struckAt: number; mendingAt: number }> {
  await pause(HEALTHY_MS)
  const struckAt = Date.now()
  await (fault === "frozen" ? redis.pause() : redis.kill())
  await pause(AWAY_MS)
  const mendingAt = Date.now()
  if (fault === "frozen") redis.resume()
  else await redis.restart()
  return { struckAt, mendingAt }
}

function slidingMost(times: readonly number[]): number {
  return worstWindow(times, WINDOW_MS)
}

/** Windows that begin at multiples of their length, as the algorithm has them. */
function fullestWindow(times: readonly number[]): number {
  const counts = new Map<number, number>()
  for (const time of times) {
    const window = Math.floor(time / WINDOW_MS)
    counts.set(window, (counts.get(window) ?? 0) + 1)
  }
  return Math.max(0, ...counts.values())
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
