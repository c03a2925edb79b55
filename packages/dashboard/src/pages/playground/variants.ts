// The algorithms that the playground compares, some of them with several options.

import type { LimitOptions } from "sluice"
import type { Terms } from "./traffic.js"

export interface Variant {
  /** A stable id for tests. */
  readonly id: string
  /** The name in code, which is not translated. */
  readonly name: string
  readonly options: Omit<LimitOptions, "limit" | "window">
  readonly shownFirst: boolean
}

export const VARIANTS: readonly Variant[] = [
  variant("fixed-window", { algorithm: "fixed-window" }, true),
  variant("sliding-window-counter", { algorithm: "sliding-window-counter" }, true),
  variant("sliding-window-counter, buckets: 10", { algorithm: "sliding-window-counter", buckets: 10 }),
  variant("sliding-window-log", { algorithm: "sliding-window-log" }, true),
  variant("token-bucket", { algorithm: "token-bucket" }, true),
  variant("leaky-bucket", { algorithm: "leaky-bucket" }),
  variant('leaky-bucket, overflow: "queue"', { algorithm: "leaky-bucket", overflow: "queue" }, true),
  variant("gcra", { algorithm: "gcra" }),
]

function variant(name: string, options: Variant["options"], shownFirst = false): Variant {
  return { id: name.replace(/\W+/g, "-").replace(/-$/, ""), name, options, shownFirst }
}

/** Only fixed-window has windows of the calendar. The other algorithms get a window of the usual length instead. */
export function limitOptions({ options }: Variant, { limit, windowSeconds, calendar }: Terms): LimitOptions {
  if (calendar === undefined) return { ...options, limit, window: `${windowSeconds}s` }
  const { unit, timeZone } = calendar
  if (options.algorithm === "fixed-window") return { ...options, limit, window: unit, timeZone }
  return { ...options, limit, window: unit === "hour" ? "1h" : `${windowSeconds / 86_400}d` }
}

/** The code that creates this limiter. */
export function codeOf(variant: Variant, terms: Terms): string {
  const inside = Object.entries(limitOptions(variant, terms)).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}`,
  )
  return `createLimiter({ ${inside.join(", ")} })`
}
