// Random traffic for limiters with a penalty, and a plain model of what they decide.

import fc from "fast-check"
import type { LimitOptions } from "../policy.js"
import { ManualClock } from "../testing/manual-clock.js"
import { createLimiter, type Limiter } from "./limiter.js"

/** Times in milliseconds. */
export interface PenaltyNumbers {
  readonly after: number
  readonly within: number
  readonly block: number
  readonly factor: number
  readonly max: number
  readonly forget: number
}

export interface PenaltyStep {
  readonly act: "check" | "peek" | "unblock"
  /** In milliseconds, before the step. */
  readonly pause: number
  readonly cost: number
}

export interface PenaltyScenario {
  readonly penalty: PenaltyNumbers
  readonly limit: LimitOptions
  readonly steps: readonly PenaltyStep[]
}

const durations = fc.constantFrom(1_000, 2_500, 10_000, 60_000, 100_000)

export const penaltyScenarios: fc.Arbitrary<PenaltyScenario> = fc
  .record({
    penalty: fc.record({
      after: fc.integer({ min: 1, max: 5 }),
      within: durations,
      block: durations,
      factor: fc.constantFrom(1, 1.5, 2, 3.7),
      max: durations,
      forget: fc.constantFrom(1_000, 60_000, 1_000_000),
    }),
    limit: fc.constantFrom<LimitOptions>(
      { name: "limit", limit: 2, window: "1s", algorithm: "token-bucket" },
      { name: "limit", limit: 2, window: "10s", algorithm: "fixed-window" },
      { name: "limit", limit: 3, window: "5s", algorithm: "sliding-window-log" },
    ),
    steps: fc.array(
      fc.record<PenaltyStep>({
        act: fc.constantFrom("check", "check", "check", "check", "check", "check", "peek", "unblock"),
        pause: fc.constantFrom(0, 0, 0, 0.001, 200, 1_000, 9_999.999, 60_000, 100_000, 1_000_000),
        cost: fc.constantFrom(1, 1, 1, 2, 4),
      }),
      { minLength: 1, maxLength: 60, size: "max" },
    ),
  })
  .map(({ penalty, ...rest }) => ({
    ...rest,
    penalty: { ...penalty, max: Math.max(penalty.block, penalty.max) },
  }))

/** What callers see of a decision. */
export interface Seen {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfterMs: number
}

/** Plays a scenario on a limiter with this clock. */
export async function seenBy(
  limiter: Limiter,
  clock: ManualClock,
  { steps }: PenaltyScenario,
): Promise<Seen[]> {
  const seen: Seen[] = []
  for (const { act, pause, cost } of steps) {
    clock.advance(pause)
    if (act === "unblock") await limiter.unblock("key")
    const { allowed, remaining, retryAfterMs } = await limiter.check("key", {
      cost: act === "check" ? cost : 0,
    })
    seen.push({ allowed, remaining, retryAfterMs })
  }
  return seen
}

/** The same by the definition: a limiter without a penalty, a list of denials and a list of blocks. */
export async function modelled({ penalty, limit, steps }: PenaltyScenario): Promise<Seen[]> {
  const clock = new ManualClock()
  const limiter = createLimiter({ ...limit, clock })
  const { after, within, block, factor, max, forget } = penalty
  const inMicros = () => Math.round(clock.now() * 1000)
  let denials: number[] = []
  let lengths: number[] = []
  let until = 0
  const seen: Seen[] = []
  for (const { act, pause, cost } of steps) {
    clock.advance(pause)
    const now = inMicros()
    if (act === "unblock") {
      denials = []
      lengths = []
      until = 0
    }
    const isBlocked = now < until
    const asked = act === "check" && !isBlocked ? cost : 0
    const { allowed, remaining, retryAfterMs } = await limiter.check("key", { cost: asked })
    if (asked > 0 && !allowed) {
      const first = denials[0]
      if (first !== undefined && now - first >= within * 1000) denials = []
      denials.push(now)
      if (denials.length === after) {
        if (now - until >= forget * 1000) lengths = []
        const last = lengths.at(-1)
        const length = last === undefined ? block * 1000 : Math.min(Math.floor(last * factor), max * 1000)
        lengths.push(length)
        until = now + length
        denials = []
      }
    }
    // A limit that would deny, too, may take longer than the block.
    const own = act === "check" && isBlocked ? await limiter.peek("key") : undefined
    const waits = act === "check" && isBlocked ? waitOf(limiter, cost, own?.remaining ?? 0) : retryAfterMs
    const wait = Math.max(now < until ? (until - now) / 1000 : 0, await waits)
    seen.push({
      allowed: allowed && now >= until,
      remaining: now < until ? 0 : remaining,
      retryAfterMs: wait,
    })
  }
  return seen
}

/** How long a request that is blocked would have to wait for the limit alone. */
async function waitOf(limiter: Limiter, cost: number, remaining: number): Promise<number> {
  if (cost <= remaining) return 0
  return (await limiter.check("key", { cost })).retryAfterMs
}
