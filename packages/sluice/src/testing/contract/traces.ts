// Every algorithm step by step, with numbers worked out by hand.

import type { LimitOptions } from "../../policy.js"
import { type Answer, Counter, type DefineTest, second } from "./counter.js"
import { expectFields } from "./expect.js"

/** Seconds after the start, the cost, and what is expected of the answer. Waits are in seconds, too. */
type Step = readonly [at: number, cost: number, expected: Partial<Answer>]

interface Trace {
  readonly title: string
  readonly limit: LimitOptions
  readonly steps: readonly Step[]
}

const US = 1e-6

const traces: readonly Trace[] = [
  {
    title: "fixed-window counts per window and starts anew exactly on the boundary",
    limit: { algorithm: "fixed-window", limit: 3, window: "1m" },
    steps: [
      [10, 1, { allowed: true, remaining: 2, retryAfter: 0, resetAfter: 50, delay: 0 }],
      [20, 2, { allowed: true, remaining: 0, resetAfter: 40 }],
      [40, 1, { allowed: false, remaining: 0, retryAfter: 20, resetAfter: 20 }],
      [60 - US, 1, { allowed: false, retryAfter: US }],
      [60, 1, { allowed: true, remaining: 2, retryAfter: 0, resetAfter: 60 }],
      [119, 2, { allowed: true, remaining: 0, resetAfter: 1 }],
      [120, 3, { allowed: true, remaining: 0, resetAfter: 60 }],
    ],
  },
  {
    title: "fixed-window from the first request starts with the first charged one",
    limit: { algorithm: "fixed-window", limit: 3, window: "1m", anchor: "first-request" },
    steps: [
      [10, 1, { allowed: true, remaining: 2, resetAfter: 60 }],
      [40, 2, { allowed: true, remaining: 0, resetAfter: 30 }],
      [70 - US, 1, { allowed: false, remaining: 0, retryAfter: US }],
      [70, 1, { allowed: true, remaining: 2, resetAfter: 60 }],
    ],
  },
  {
    title: "fixed-window of a calendar starts anew at midnight in its time zone",
    limit: { algorithm: "fixed-window", limit: 3, window: "day", timeZone: "Asia/Kathmandu" },
    steps: [
      [10, 2, { allowed: true, remaining: 1, resetAfter: 65_690 }],
      [20, 2, { allowed: false, remaining: 1, retryAfter: 65_680, resetAfter: 65_680 }],
      [65_700 - US, 2, { allowed: false, retryAfter: US }],
      [65_700, 2, { allowed: true, remaining: 1, resetAfter: 86_400 }],
    ],
  },
  {
    title: "sliding-window-log forgets each unit exactly one window after it came",
    limit: { algorithm: "sliding-window-log", limit: 3, window: "1m" },
    steps: [
      [0, 1, { allowed: true, remaining: 2, resetAfter: 60 }],
      [0, 1, { allowed: true, remaining: 1, resetAfter: 60 }],
      [30, 1, { allowed: true, remaining: 0, resetAfter: 60 }],
      [40, 1, { allowed: false, remaining: 0, retryAfter: 20, resetAfter: 50 }],
      [40, 3, { allowed: false, remaining: 0, retryAfter: 50, resetAfter: 50 }],
      [60 - US, 1, { allowed: false, retryAfter: US }],
      [60, 1, { allowed: true, remaining: 1, resetAfter: 60 }],
      [60, 3, { allowed: false, remaining: 1, retryAfter: 60, resetAfter: 60 }],
      [90, 2, { allowed: true, remaining: 0, resetAfter: 60 }],
    ],
  },
  {
    title: "sliding-window-counter weighs the window before by what is still inside",
    limit: { algorithm: "sliding-window-counter", limit: 100, window: "1m" },
    steps: [
      [0, 80, { allowed: true, remaining: 20 }],
      [75, 1, { allowed: true, remaining: 39, retryAfter: 0 }],
      [105, 0, { allowed: true, remaining: 79 }],
      [105, 80, { allowed: false, remaining: 79, retryAfter: US }],
      [105 + US, 80, { allowed: true, remaining: 0 }],
      [120, 19, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: "sliding-window-counter with buckets weighs the oldest one only",
    limit: { algorithm: "sliding-window-counter", limit: 10, window: "1m", buckets: 6 },
    steps: [
      [5, 4, { allowed: true, remaining: 6 }],
      [15, 4, { allowed: true, remaining: 2 }],
      [60, 0, { allowed: true, remaining: 2 }],
      [62, 0, { allowed: true, remaining: 3 }],
      [62, 5, { allowed: false, remaining: 3, retryAfter: 3 + US }],
      [65, 0, { allowed: true, remaining: 4 }],
      [70, 0, { allowed: true, remaining: 6 }],
      [70, 6, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: "token-bucket starts full and refills evenly",
    limit: { algorithm: "token-bucket", limit: 6, window: "1m", burst: 3 },
    steps: [
      [0, 1, { allowed: true, remaining: 2, retryAfter: 0, resetAfter: 10, delay: 0 }],
      [0, 2, { allowed: true, remaining: 0, resetAfter: 30 }],
      [0, 1, { allowed: false, remaining: 0, retryAfter: 10, resetAfter: 30 }],
      [10 - US, 1, { allowed: false, retryAfter: US }],
      [10, 1, { allowed: true, remaining: 0, resetAfter: 30 }],
      [15, 2, { allowed: false, remaining: 0, retryAfter: 15, resetAfter: 25 }],
      [1_000, 1, { allowed: true, remaining: 2, resetAfter: 10 }],
    ],
  },
  {
    title: "token-bucket keeps a rate that does not divide, to the microsecond",
    limit: { algorithm: "token-bucket", limit: 7, window: "1m", burst: 1 },
    steps: [
      [0, 1, { allowed: true, remaining: 0 }],
      [0, 1, { allowed: false, retryAfter: 8.571429 }],
      [8.571428, 1, { allowed: false, retryAfter: US }],
      [8.571429, 1, { allowed: true, remaining: 0 }],
      // The part of a token beyond the first one is not lost.
      [17.142857, 1, { allowed: false, retryAfter: US }],
      [17.142858, 1, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: "leaky-bucket takes what fits above the water",
    limit: { algorithm: "leaky-bucket", limit: 6, window: "1m", burst: 2 },
    steps: [
      [0, 2, { allowed: true, remaining: 0, resetAfter: 20, delay: 0 }],
      [5, 1, { allowed: false, remaining: 0, retryAfter: 5, resetAfter: 15 }],
      [10 - US, 1, { allowed: false, retryAfter: US }],
      [10, 1, { allowed: true, remaining: 0, resetAfter: 20, delay: 0 }],
    ],
  },
  {
    title: "leaky-bucket that queues lets out one by one, evenly spaced",
    limit: { algorithm: "leaky-bucket", limit: 6, window: "1m", burst: 3, overflow: "queue" },
    steps: [
      [0, 1, { allowed: true, remaining: 2, delay: 0 }],
      [0, 1, { allowed: true, remaining: 1, delay: 10 }],
      [0, 1, { allowed: true, remaining: 0, delay: 20 }],
      [0, 1, { allowed: false, remaining: 0, retryAfter: 10, delay: 0 }],
      [10 - US, 1, { allowed: false, retryAfter: US, delay: 0 }],
      [10, 1, { allowed: true, remaining: 0, delay: 20 }],
      [100, 1, { allowed: true, remaining: 2, delay: 0 }],
    ],
  },
  {
    title: "concurrency frees what nobody releases exactly when its hold ends",
    limit: { algorithm: "concurrency", limit: 3, hold: "1m" },
    steps: [
      [0, 1, { allowed: true, remaining: 2, retryAfter: 0, resetAfter: 60, delay: 0 }],
      [20, 2, { allowed: true, remaining: 0, resetAfter: 60 }],
      [30, 1, { allowed: false, remaining: 0, retryAfter: 30, resetAfter: 50 }],
      [30, 2, { allowed: false, retryAfter: 50 }],
      [60 - US, 1, { allowed: false, retryAfter: US }],
      [60, 1, { allowed: true, remaining: 0, resetAfter: 60 }],
      [80 - US, 1, { allowed: false, retryAfter: US }],
      [80, 2, { allowed: true, remaining: 0, resetAfter: 60 }],
      [80, 4, { allowed: false, remaining: 0, retryAfter: Number.POSITIVE_INFINITY, resetAfter: 60 }],
    ],
  },
  {
    title: "gcra is a token bucket of max_burst + 1",
    limit: { algorithm: "gcra", limit: 6, window: "1m", maxBurst: 2 },
    steps: [
      [0, 3, { allowed: true, remaining: 0, resetAfter: 30 }],
      [0, 1, { allowed: false, retryAfter: 10, resetAfter: 30 }],
      [10 - US, 1, { allowed: false, retryAfter: US }],
      [10, 1, { allowed: true, remaining: 0, resetAfter: 30 }],
    ],
  },
  {
    title: "a limit of 1 lets exactly one through, again and again",
    limit: { algorithm: "sliding-window-log", limit: 1, window: "10s" },
    steps: [
      [0, 1, { allowed: true, remaining: 0 }],
      [10 - US, 1, { allowed: false, retryAfter: US }],
      [10, 1, { allowed: true, remaining: 0 }],
      [10, 1, { allowed: false, retryAfter: 10 }],
      [20, 1, { allowed: true, remaining: 0 }],
    ],
  },
]

export function tracesOfEveryAlgorithm(test: DefineTest): void {
  for (const { title, limit, steps } of traces) {
    test(title, async (store) => {
      const counter = new Counter(store, limit)
      for (const [at, cost, expected] of steps) {
        const answer = await counter.check(second(at), cost)
        expectFields(answer, inMicros(expected), `cost ${cost} at ${at} s`)
      }
    })
  }
}

function inMicros(expected: Partial<Answer>): Partial<Answer> {
  const micros = { ...expected }
  for (const field of ["retryAfter", "resetAfter", "delay"] as const) {
    const seconds = micros[field]
    if (seconds !== undefined) micros[field] = Math.round(seconds * 1e6)
  }
  return micros
}
