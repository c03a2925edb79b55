import type { Duration } from "../../duration.js"
import type { LimitOptions } from "../../policy.js"

/** The capacity of every variant below. */
export const CAPACITY = 10
export const WINDOW = 60e6

export interface Variant {
  readonly title: string
  readonly limit: LimitOptions
}

export const variants: readonly Variant[] = [
  { title: "fixed-window", limit: { algorithm: "fixed-window", limit: 10, window: "1m" } },
  {
    title: "fixed-window from the first request",
    limit: { algorithm: "fixed-window", limit: 10, window: "1m", anchor: "first-request" },
  },
  { title: "sliding-window-log", limit: { algorithm: "sliding-window-log", limit: 10, window: "1m" } },
  {
    title: "sliding-window-counter",
    limit: { algorithm: "sliding-window-counter", limit: 10, window: "1m" },
  },
  {
    title: "sliding-window-counter with 6 buckets",
    limit: { algorithm: "sliding-window-counter", limit: 10, window: "1m", buckets: 6 },
  },
  { title: "token-bucket", limit: { algorithm: "token-bucket", limit: 10, window: "1m" } },
  {
    title: "token-bucket with a burst above an uneven rate",
    limit: { algorithm: "token-bucket", limit: 7, window: "1m", burst: 10 },
  },
  { title: "leaky-bucket", limit: { algorithm: "leaky-bucket", limit: 10, window: "1m" } },
  {
    title: "leaky-bucket that queues",
    limit: { algorithm: "leaky-bucket", limit: 10, window: "1m", overflow: "queue" },
  },
  { title: "gcra", limit: { algorithm: "gcra", limit: 10, window: "1m", maxBurst: 9 } },
  { title: "concurrency", limit: { algorithm: "concurrency", limit: 10, hold: "1m" } },
]

/** The longest time that a key can stay denied. A counter weighs the units of a window also in the window after it. */
export function maxWait(limit: LimitOptions): number {
  if (limit.algorithm === "sliding-window-counter") return 2 * WINDOW
  return limit.limit === 7 ? Math.ceil((10 * WINDOW) / 7) : WINDOW
}

/** The same limit with another window, or another hold. */
export function withWindow(limit: LimitOptions, window: Duration): LimitOptions {
  return { ...limit, [limit.hold === undefined ? "window" : "hold"]: window }
}
