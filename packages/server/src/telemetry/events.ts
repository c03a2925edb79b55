import { BOUNDS, type Durations } from "./durations.js"
import type { StoreState } from "./store-state.js"
import type { Tally } from "./tally.js"

/** What live listeners are told. */
export type WatchEvent =
  /** Each second in which there were decisions. */
  | {
      readonly type: "decisions"
      /** Milliseconds since 1970. */
      readonly at: number
      /** A request that meets two rules is one request. */
      readonly requests: { readonly allowed: number; readonly denied: number }
      readonly rules: readonly {
        readonly id: string
        readonly allowed: number
        readonly denied: number
        readonly shadowDenied: number
        readonly degraded: number
      }[]
      readonly durations: {
        readonly count: number
        readonly meanMs: number
        /** An upper bound of half of them, as fine as the histogram is; 1,000 for all that is longer. */
        readonly p50Ms: number
        readonly p99Ms: number
      }
    }
  | { readonly type: "rules"; readonly at: number; readonly revision: number }
  /** A breaker changed its state, or the store failed for the first time in a second. */
  | {
      readonly type: "store"
      readonly at: number
      readonly breakers: StoreState["breakers"]
      readonly failures: Readonly<Record<string, number>>
    }

/** Listeners at once. Each is somebody's open page. */
const MOST_LISTENERS = 1_000

export class Listeners {
  readonly #listeners = new Set<(event: WatchEvent) => void>()

  /** Returns a function that ends it. */
  add(listener: (event: WatchEvent) => void): () => void {
    if (this.#listeners.size >= MOST_LISTENERS) return () => {}
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(event: WatchEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : new Error(String(error)))
      }
    }
  }
}

/** A second in which there were decisions. */
export function decisionsEvent(
  tally: Tally,
  at: number,
): Extract<WatchEvent, { readonly type: "decisions" }> {
  const { rules, durations } = tally
  const { count, sumMs } = durations
  return {
    type: "decisions",
    at,
    requests: tally.requestTotals(),
    rules: [...rules].map(([id, { nearLimit: _nearLimit, ...counts }]) => ({ id, ...counts })),
    // Decisions that were only counted have none.
    durations: {
      count,
      meanMs: count === 0 ? 0 : sumMs / count,
      p50Ms: boundOf(durations, 0.5),
      p99Ms: boundOf(durations, 0.99),
    },
  }
}

/** JSON has no infinity: what is longer than the last bound is told as that. */
function boundOf(durations: Durations, share: number): number {
  return Math.min(durations.quantile(share) ?? 0, BOUNDS.at(-1) as number)
}
