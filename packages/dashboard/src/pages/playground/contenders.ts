// Who is compared: every algorithm of the library, with the options that make it another.

import type { LimitOptions } from "sluice"

export interface Contender {
  /** Stable, for addresses and tests. */
  readonly id: string
  /** As code has it: names of the library are not translated. */
  readonly name: string
  readonly options: Omit<LimitOptions, "limit" | "window">
  readonly shownFirst: boolean
}

export const CONTENDERS: readonly Contender[] = [
  contender("fixed-window", { algorithm: "fixed-window" }, true),
  contender("sliding-window-counter", { algorithm: "sliding-window-counter" }, true),
  contender("sliding-window-counter, buckets: 10", { algorithm: "sliding-window-counter", buckets: 10 }),
  contender("sliding-window-log", { algorithm: "sliding-window-log" }, true),
  contender("token-bucket", { algorithm: "token-bucket" }, true),
  contender("leaky-bucket", { algorithm: "leaky-bucket" }),
  contender('leaky-bucket, overflow: "queue"', { algorithm: "leaky-bucket", overflow: "queue" }, true),
  contender("gcra", { algorithm: "gcra" }),
]

function contender(name: string, options: Contender["options"], shownFirst = false): Contender {
  return { id: name.replace(/\W+/g, "-").replace(/-$/, ""), name, options, shownFirst }
}

/** The code that makes this limiter. */
export function codeOf({ options }: Contender, limit: number, windowSeconds: number): string {
  const fields = { ...options, limit, window: `${windowSeconds}s` }
  const inside = Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return `createLimiter({ ${inside.join(", ")} })`
}
