// The algorithms that the playground compares, some of them with several options.

import type { LimitOptions } from "sluice"

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

/** The code that creates this limiter. */
export function codeOf({ options }: Variant, limit: number, windowSeconds: number): string {
  const fields = { ...options, limit, window: `${windowSeconds}s` }
  const inside = Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return `createLimiter({ ${inside.join(", ")} })`
}
