// Random traffic for a few counters at once. Policies, pauses and costs are those of the property tests.

import fc from "fast-check"
import type { AlgorithmName, LimitOptions } from "sluice"
import type { Policy } from "../../packages/sluice/src/algorithms/algorithm.js"
import {
  type Cost,
  type Pause,
  pauseFields,
  policyDraws,
  policyOf,
  startTimes,
  weighted,
} from "../../packages/sluice/src/algorithms/scenario.test-support.js"
import type { Manner } from "./trace.js"

/** One charge of a step: on which counter, and how much of what. */
export interface Part {
  readonly counter: number
  readonly key: number
  readonly cost: Cost["cost"] | "huge"
  readonly more: number
}

export interface Step extends Pause {
  readonly act: "check" | "decide" | "charge" | "refund" | "reset" | "change" | "block"
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
  /** Whether windows are of a calendar. */
  readonly calendar?: boolean
}

export const shapes: readonly Shape[] = [
  { title: "fixed-window", algorithm: "fixed-window" },
  {
    title: "fixed-window from the first request",
    algorithm: "fixed-window",
    options: { anchor: "first-request" },
  },
  { title: "fixed-window of a calendar", algorithm: "fixed-window", calendar: true },
  { title: "sliding-window-log", algorithm: "sliding-window-log" },
  { title: "sliding-window-counter", algorithm: "sliding-window-counter" },
  { title: "sliding-window-counter in buckets", algorithm: "sliding-window-counter", buckets: 12 },
  { title: "token-bucket", algorithm: "token-bucket" },
  { title: "leaky-bucket", algorithm: "leaky-bucket" },
  { title: "leaky-bucket as a queue", algorithm: "leaky-bucket", options: { overflow: "queue" } },
  { title: "gcra", algorithm: "gcra" },
  { title: "concurrency", algorithm: "concurrency" },
]

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
  ...pauseFields,
  parts: fc.oneof(fc.tuple(parts), fc.array(parts, { minLength: 1, maxLength: 3 })),
  repeats: fc.constantFrom(0, 0, 0, 0, 1, 2),
})

/** Traffic on counters whose shapes are among the given ones. */
export function scenarios(among: readonly Shape[]): fc.Arbitrary<Scenario> {
  const counter = fc
    .record({
      shape: fc.constantFrom(...among),
      draws: fc.array(policyDraws, { minLength: 1, maxLength: 3 }),
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
    start: startTimes,
    steps: fc.array(steps, { minLength: 1, maxLength: 80, size: "max" }),
  })
}
