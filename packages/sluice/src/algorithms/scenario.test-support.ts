// Random traffic for one key: steps that know where the interesting moments are (edges, retryAfter, resetAfter, whole
// windows, each give or take a microsecond) instead of hoping to hit them.

import fc from "fast-check"
import type { LimitOptions } from "../policy.js"
import { compilePolicy } from "../policy.js"
import type { Algorithm, AlgorithmName, Policy, Verdict } from "./algorithm.js"
import { calendarWindow } from "./calendar.test-support.js"
import { gcd, MAX_EXACT } from "./exact.js"
import { Key } from "./key.test-support.js"

/** The time between two steps. */
export interface Pause {
  readonly pause: "none" | "short" | "edge" | "retry" | "reset" | "windows" | "part" | "back" | "far-back"
  /** Give or take, in microseconds. */
  readonly shift: -1 | 0 | 1
  /** How far, in thousandths, where the pause leaves it open. */
  readonly far: number
}

/** What a charge costs, relative to the limit. */
export interface Cost {
  readonly cost: "none" | "one" | "few" | "part" | "rest" | "all"
  readonly more: number
}

export interface Step extends Pause, Cost {
  /** A `charge` asks nobody, so it may take a key beyond its limit. */
  readonly act: "check" | "charge" | "refund" | "change"
}

export interface Scenario {
  /** The first holds at the start; a change moves on to the next. */
  readonly policies: readonly Policy[]
  readonly start: number
  readonly steps: readonly Step[]
}

/** Which policies a scenario may have. */
export interface Shape {
  readonly algorithm: AlgorithmName
  readonly options?: Pick<LimitOptions, "anchor" | "overflow">
  /** The most buckets of a counter. */
  readonly buckets?: number
  /** Whether windows are of a calendar. */
  readonly calendar?: boolean
  /** Another way to the same answers, which takes its place. */
  readonly twin?: { readonly algorithm: Algorithm; readonly maxUnits: number }
}

/** The year 2160. Later times plus ten years come near the end of exact numbers. */
export const LATEST = 6e15
const DAY = 86_400_000_000

const limits = fc.oneof(
  { arbitrary: fc.constantFrom(1, 2, 3, 7, 10, 100), weight: 4 },
  { arbitrary: fc.integer({ min: 1, max: 1_000 }), weight: 3 },
  { arbitrary: fc.integer({ min: 1, max: 2 ** 31 - 1 }), weight: 2 },
  { arbitrary: fc.integer({ min: 2 ** 50 - 1_000, max: 2 ** 50 }), weight: 2 },
)

const windows = fc.oneof(
  fc.constantFrom(1_000_000, 60_000_000, 3_600_000_000, DAY, 30 * DAY, 3_650 * DAY),
  fc.integer({ min: 1, max: 50 }),
  fc.integer({ min: 1, max: 5_000_000 }),
  fc.maxSafeNat().map((n) => 1 + (n % (3_000 * DAY))),
)

/** The numbers of a policy, which `policyOf` fits to an algorithm. */
interface Draw {
  readonly limit: number
  readonly window: number
  /** In hundredths of the limit. */
  readonly burst: number | null
}

export const policyDraws: fc.Arbitrary<Draw> = fc.record({
  limit: limits,
  window: windows,
  burst: fc.option(fc.integer({ min: 1, max: 4_000 })),
})

export const startTimes: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, 1_704_067_200_000_000),
  fc.integer({ min: 0, max: LATEST / 2 }),
)

export const pauseFields = {
  pause: weighted<Pause["pause"]>(
    ["none", 4],
    ["short", 2],
    ["edge", 3],
    ["retry", 3],
    ["reset", 3],
    ["windows", 1],
    ["part", 4],
    ["back", 1],
    ["far-back", 1],
  ),
  shift: fc.constantFrom<Pause["shift"]>(-1, 0, 0, 1),
  far: fc.nat(1_000),
}

const steps = fc.record<Step>({
  act: weighted(["check", 12], ["charge", 1], ["refund", 2], ["change", 1]),
  ...pauseFields,
  cost: weighted(["none", 1], ["one", 4], ["few", 2], ["part", 3], ["rest", 3], ["all", 2]),
  more: fc.nat(2),
})

export function scenarios(shape: Shape): fc.Arbitrary<Scenario> {
  return fc
    .record({
      draws: fc.array(policyDraws, { minLength: 1, maxLength: 3 }),
      buckets: fc.integer({
        min: shape.buckets === undefined ? 1 : Math.min(2, shape.buckets),
        max: shape.buckets ?? 1,
      }),
      start: startTimes,
      steps: fc.array(steps, { minLength: 1, maxLength: 80, size: "max" }),
    })
    .map(({ draws, buckets, start, steps }) => {
      return { policies: draws.map((draw) => policyOf(shape, draw, buckets)), start, steps }
    })
}

/** The nearest policy that exact arithmetic takes. */
export function policyOf(shape: Shape, draw: Draw, buckets: number): Policy {
  const { burst } = draw
  const limit = Math.min(draw.limit, shape.twin?.maxUnits ?? draw.limit)
  const drains = ["token-bucket", "leaky-bucket", "gcra"].includes(shape.algorithm)
  const hasBurst = drains && burst !== null
  const capacity = hasBurst ? Math.min(Math.max(1, Math.floor((limit / 100) * burst)), 2 ** 50) : limit
  let { window } = draw
  while (drains && (capacity * window) / gcd(limit, window) > MAX_EXACT) window = Math.ceil(window / 10)
  const size = Math.ceil(window / buckets)
  const options: LimitOptions = {
    ...shape.options,
    algorithm: shape.algorithm,
    limit,
    ...(shape.calendar
      ? calendarWindow(draw.window)
      : { [shape.algorithm === "concurrency" ? "hold" : "window"]: (size * buckets) / 1000 }),
  }
  if (hasBurst && shape.algorithm === "gcra") options.maxBurst = capacity - 1
  else if (hasBurst) options.burst = capacity
  if (buckets > 1) options.buckets = buckets
  const policy = compilePolicy(options, "scenario")
  return shape.twin === undefined ? policy : { ...policy, algorithm: shape.twin.algorithm }
}

/** What a step came to. All but a check are followed by a peek, which is the verdict then. */
export interface Event {
  readonly act: Step["act"]
  readonly now: number
  /** Of the check, the charge or the refund. */
  readonly cost: number
  /** What the verdict is about. */
  readonly asked: number
  readonly verdict: Verdict
}

/** Plays a scenario on a key, telling `after` of every step. Returns how many there were. */
export function play(scenario: Scenario, after: (key: Key, event: Event, step: Step) => void): number {
  const key = new Key(scenario.policies[0] as Policy)
  let now = scenario.start
  let changes = 0
  let last = key.decide(0, now)
  for (const step of scenario.steps) {
    now = Math.min(Math.max(0, timeAfter(step, now, key.policy, last)), LATEST)
    const { remaining } = last
    const cost = costOf(step, step.far, key.policy.capacity, () => remaining)
    if (step.act === "check") {
      last = key.check(cost, now)
    } else {
      if (step.act === "refund") key.refund(cost, now)
      else if (step.act === "charge") key.charge(cost, now)
      else key.policy = scenario.policies[++changes % scenario.policies.length] as Policy
      last = key.decide(0, now)
    }
    after(key, { act: step.act, now, cost, asked: step.act === "check" ? cost : 0, verdict: last }, step)
  }
  return scenario.steps.length
}

/** The time of the next step. `last` is what the last step was told. */
export function timeAfter(
  { pause, shift, far }: Pause,
  now: number,
  { window, bucketSize, calendar }: Policy,
  last: Pick<Verdict, "retryAfter" | "resetAfter">,
): number {
  switch (pause) {
    case "none":
      return now
    case "short":
      return now + 1 + (far % 3)
    case "edge":
      if (calendar !== undefined) {
        calendar.find(now)
        return calendar.end + shift
      }
      return (Math.floor(now / bucketSize) + 1) * bucketSize + shift
    case "retry":
      return now + (Number.isFinite(last.retryAfter) ? last.retryAfter : 0) + shift
    case "reset":
      return now + last.resetAfter + shift
    case "windows":
      return now + (1 + (far % 3)) * window + shift
    case "part":
      return now + Math.floor((window / 500) * far)
    case "back":
      return now - Math.floor((window / 1_000) * far) + shift
    case "far-back":
      return now - (1 + (far % 4)) * window + shift
  }
}

/** `far` is in thousandths, `remaining` what would just fit. */
export function costOf({ cost, more }: Cost, far: number, capacity: number, remaining: () => number): number {
  switch (cost) {
    case "none":
      return 0
    case "one":
      return 1
    case "few":
      return 1 + more
    case "part":
      return Math.floor((capacity / 1_000) * far)
    case "rest":
      return remaining() + (more % 2)
    case "all":
      return capacity + more
  }
}

/** The policy and, line by line, what happened. */
export function showScenario(scenario: Scenario): string {
  const lines: string[] = []
  const show = ({ algorithm, limit, window, capacity, buckets, anchored, queue, calendar }: Policy) => {
    const zone = calendar === undefined ? "" : `, ${calendar.unit} in ${calendar.timeZone}`
    const extra = `${zone}${anchored ? ", first-request" : ""}${queue ? ", queue" : ""}`
    return `${algorithm.name}: limit ${limit}, window ${window} µs, capacity ${capacity}, buckets ${buckets}${extra}`
  }
  lines.push(show(scenario.policies[0] as Policy), `start at ${scenario.start} µs`)
  try {
    play(scenario, (key, { act, now, cost, verdict }) => {
      const { allowed, remaining, retryAfter, resetAfter, delay } = verdict
      lines.push(
        `at ${now} (${now - scenario.start}) ${act === "change" ? `now ${show(key.policy)}` : `${act} ${cost}`}: ` +
          `${allowed ? "yes" : "no"}, remaining ${remaining}, retry ${retryAfter}, reset ${resetAfter}, delay ${delay}`,
      )
    })
  } catch (error) {
    lines.push(String(error))
  }
  return lines.join("\n")
}

export function weighted<T extends string>(...choices: [T, number][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([value, weight]) => ({ arbitrary: fc.constant(value), weight })))
}
