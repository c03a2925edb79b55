// Random traffic for a few counters at once: steps that know where the interesting moments are (edges, retryAfter,
// resetAfter, whole windows, each give or take a microsecond) instead of hoping to hit them.

import fc from "fast-check"
import type { AlgorithmName, LimitOptions } from "sluice"
import type { Policy } from "../../packages/sluice/src/algorithms/algorithm.js"
import { gcd, MAX_EXACT } from "../../packages/sluice/src/algorithms/exact.js"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import type { Manner } from "./trace.js"

/** One charge of a step: on which counter, and how much of what. */
export interface Part {
  readonly counter: number
  readonly key: number
  readonly cost: "none" | "one" | "few" | "part" | "rest" | "all" | "huge"
  readonly more: number
}

export interface Step {
  readonly act: "check" | "decide" | "charge" | "refund" | "reset" | "change" | "block"
  readonly pause: "none" | "short" | "edge" | "retry" | "reset" | "windows" | "part" | "back" | "far-back"
  /** Give or take. */
  readonly shift: -1 | 0 | 1
  /** How far, in thousandths, where the pause leaves it open. */
  readonly far: number
  /** The same counter may come twice. */
  readonly parts: readonly Part[]
  /** The same check again, at the same time. */
  readonly repeats: number
}

export interface Scenario {
  readonly manner: Manner
  /** Per counter: the first policy holds at the start, a change moves on to the next. */
  readonly counters: readonly (readonly Policy[])[]
  /** Keys of each counter. */
  readonly keys: number
  /** Whether some are blocked, and every check asks whether it is. */
  readonly blocks: boolean
  readonly start: number
  readonly steps: readonly Step[]
}

/** Which policies a counter may have. */
export interface Shape {
  readonly title: string
  readonly algorithm: AlgorithmName
  readonly options?: Pick<LimitOptions, "anchor" | "overflow">
  /** The most buckets of a counter. */
  readonly buckets?: number
}

export const shapes: readonly Shape[] = [
  { title: "fixed-window", algorithm: "fixed-window" },
  {
    title: "fixed-window from the first request",
    algorithm: "fixed-window",
    options: { anchor: "first-request" },
  },
  { title: "sliding-window-log", algorithm: "sliding-window-log" },
  { title: "sliding-window-counter", algorithm: "sliding-window-counter" },
  { title: "sliding-window-counter in buckets", algorithm: "sliding-window-counter", buckets: 12 },
  { title: "token-bucket", algorithm: "token-bucket" },
  { title: "leaky-bucket", algorithm: "leaky-bucket" },
  { title: "leaky-bucket as a queue", algorithm: "leaky-bucket", options: { overflow: "queue" } },
  { title: "gcra", algorithm: "gcra" },
]

/** The year 2160. Later times plus ten years come near the end of exact numbers. */
export const LATEST = 6e15
const DAY = 86_400_000_000

const limits = fc.oneof(
  { arbitrary: fc.constantFrom(1, 2, 3, 7, 10, 100), weight: 4 },
  { arbitrary: fc.integer({ min: 1, max: 1_000 }), weight: 3 },
  { arbitrary: fc.integer({ min: 2 ** 27, max: 2 ** 31 - 1 }), weight: 2 },
  { arbitrary: fc.integer({ min: 2 ** 50 - 1_000, max: 2 ** 50 }), weight: 2 },
)

const windows = fc.oneof(
  fc.constantFrom(1_000_000, 60_000_000, 3_600_000_000, DAY, 30 * DAY, 3_650 * DAY),
  fc.integer({ min: 1, max: 50 }),
  fc.integer({ min: 1, max: 5_000_000 }),
  fc.maxSafeNat().map((n) => 1 + (n % (3_000 * DAY))),
)

const draws = fc.record({
  limit: limits,
  window: windows,
  burst: fc.option(fc.integer({ min: 1, max: 4_000 })),
})

const parts = fc.record<Part>({
  counter: fc.nat(5),
  key: fc.nat(5),
  cost: weighted(["none", 1], ["one", 5], ["few", 3], ["part", 3], ["rest", 3], ["all", 1], ["huge", 1]),
  more: fc.nat(2),
})

const steps = fc.record<Step>({
  act: weighted(
    ["check", 14],
    ["decide", 2],
    ["charge", 1],
    ["refund", 2],
    ["reset", 1],
    ["change", 3],
    ["block", 1],
  ),
  pause: weighted(
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
  shift: fc.constantFrom(-1, 0, 0, 1),
  far: fc.nat(1_000),
  parts: fc.oneof(fc.tuple(parts), fc.array(parts, { minLength: 1, maxLength: 3 })),
  repeats: fc.constantFrom(0, 0, 0, 0, 1, 2),
})

/** Traffic on counters whose shapes are among the given ones. */
export function scenarios(among: readonly Shape[]): fc.Arbitrary<Scenario> {
  const counter = fc
    .record({
      shape: fc.constantFrom(...among),
      draws: fc.array(draws, { minLength: 1, maxLength: 3 }),
      cut: fc.nat(),
    })
    .map(({ shape, draws, cut }) => {
      const buckets = shape.buckets === undefined ? 1 : 2 + (cut % (shape.buckets - 1))
      return draws.map((draw) => policyOf(shape, draw, buckets))
    })
  return fc.record({
    manner: fc.constantFrom<Manner>("each", "together", "many", "bursts"),
    keys: fc.constantFrom(1, 2, 3),
    blocks: fc.boolean(),
    counters: fc.array(counter, { minLength: 1, maxLength: 3 }),
    start: fc.oneof(fc.constantFrom(0, 1_704_067_200_000_000), fc.integer({ min: 0, max: LATEST / 2 })),
    steps: fc.array(steps, { minLength: 1, maxLength: 80, size: "max" }),
  })
}

/** The nearest policy that exact arithmetic takes. A burst is given in hundredths of the limit. */
function policyOf(
  shape: Shape,
  draw: { limit: number; window: number; burst: number | null },
  buckets: number,
): Policy {
  const { limit, burst } = draw
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
    window: (size * buckets) / 1000,
  }
  if (hasBurst && shape.algorithm === "gcra") options.maxBurst = capacity - 1
  else if (hasBurst) options.burst = capacity
  if (buckets > 1) options.buckets = buckets
  return compilePolicy(options, "scenario")
}

function weighted<T extends string>(...choices: [T, number][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([value, weight]) => ({ arbitrary: fc.constant(value), weight })))
}
