// Bounds on how many requests may be admitted in any span of time, counted from outside, without knowing any state.

import type { AlgorithmName, Policy } from "./algorithm.js"
import type { Scenario } from "./scenario.test-support.js"
import { play } from "./scenario.test-support.js"

export interface Admitted {
  readonly at: bigint
  readonly cost: bigint
}

/** The scenario with one policy, a clock that only moves forward, and no refunds. */
export function forwardOnly(scenario: Scenario): Scenario {
  const steps = scenario.steps.map((step) => {
    const back = step.pause === "back" || step.pause === "far-back"
    return {
      ...step,
      act: "check",
      pause: back ? "none" : step.pause,
      shift: Math.max(0, step.shift),
    } as typeof step
  })
  return { ...scenario, policies: scenario.policies.slice(0, 1), steps }
}

/** Plays such a scenario and checks the bounds. Returns the number of steps. */
export function watch(scenario: Scenario): number {
  const honest = forwardOnly(scenario)
  const policy = honest.policies[0] as Policy
  const admitted: Admitted[] = []
  const steps = play(honest, (_key, { cost, now, verdict }) => {
    if (verdict.allowed && cost > 0) admitted.push({ at: BigInt(now), cost: BigInt(cost) })
  })
  mostIn[policy.algorithm.name as AlgorithmName](policy, admitted)
  return steps
}

type Bound = (policy: Policy, admitted: readonly Admitted[]) => void

const mostIn: Record<AlgorithmName, Bound> = {
  "fixed-window": (policy, admitted) => {
    const size = BigInt(policy.window)
    let end = 0n
    let start = 0n
    for (const { at } of admitted) {
      if (at < end) continue
      start = policy.anchored ? at : (at / size) * size
      end = start + size
      if (policy.calendar !== undefined) {
        policy.calendar.find(Number(at))
        start = BigInt(policy.calendar.start)
        end = BigInt(policy.calendar.end)
      }
      atMost(policy.limit, sumBetween(admitted, start, end), `in the window from ${start}`)
    }
  },
  "sliding-window-log": inAnyWindow,
  // Without releases, a limit on what is held is a limit on what comes within one hold.
  concurrency: inAnyWindow,
  /** Only the oldest of its B + 1 buckets is estimated: B whole buckets never hold more than the limit. */
  "sliding-window-counter": (policy, admitted) => {
    const size = BigInt(policy.bucketSize)
    for (const { at } of admitted) {
      const end = (at / size + 1n) * size
      atMost(
        policy.limit,
        sumBetween(admitted, end - BigInt(policy.window), end),
        `in the buckets up to ${end}`,
      )
    }
  },
  "token-bucket": drained,
  "leaky-bucket": drained,
  gcra: drained,
}

function inAnyWindow(policy: Policy, admitted: readonly Admitted[]): void {
  for (const { at } of admitted) {
    const sum = sumBetween(admitted, at - BigInt(policy.window) + 1n, at + 1n)
    atMost(policy.limit, sum, `in the window up to ${at}`)
  }
}

/** In any stretch of time: a full bucket, and what came back meanwhile. */
function drained(policy: Policy, admitted: readonly Admitted[]): void {
  for (const [i, first] of admitted.entries()) {
    let sum = 0n
    for (const { at, cost } of admitted.slice(i)) {
      sum += cost
      const back = ((at - first.at) * BigInt(policy.limit)) / BigInt(policy.window)
      if (sum > BigInt(policy.capacity) + back)
        throw new Error(`${sum} units passed from ${first.at} to ${at}`)
    }
  }
}

/** Units from `start` on, up to but not including `end`. */
function sumBetween(admitted: readonly Admitted[], start: bigint, end: bigint): bigint {
  return admitted.reduce((sum, { at, cost }) => (at >= start && at < end ? sum + cost : sum), 0n)
}

function atMost(limit: number, sum: bigint, where: string): void {
  if (sum > BigInt(limit)) throw new Error(`${sum} units passed ${where}, limit ${limit}`)
}
