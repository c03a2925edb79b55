import type { BlocksReport } from "./begun-blocks.js"
import { DURATION_BOUNDS, type Histogram } from "./histogram.js"
import type { StoreState } from "./store-state.js"
import type { Tally } from "./tally.js"

/** An event for live listeners. */
export type WatchEvent =
  /** Sent for each second with decisions. */
  | {
      readonly type: "decisions"
      /** Milliseconds since 1970. */
      readonly at: number
      /** Requests: one that matches two rules counts once. */
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
        /** An upper bound of the median, as precise as the histogram. At most 1,000. */
        readonly p50Ms: number
        readonly p99Ms: number
      }
    }
  /** Sent for each second in which penalties began blocks. */
  | ({ readonly type: "blocks"; readonly at: number } & BlocksReport)
  | { readonly type: "rules"; readonly at: number; readonly revision: number }
  /** Sent when a breaker changes its state, and for the first store failure of a second. */
  | {
      readonly type: "store"
      readonly at: number
      readonly breakers: StoreState["breakers"]
      readonly failures: Readonly<Record<string, number>>
    }

/** The most listeners at a time. Each is an open page. */
const MAX_LISTENERS = 1_000

export class Listeners {
  readonly #listeners = new Set<(event: WatchEvent) => void>()

  /** Adds a listener. Returns a function that removes it. */
  add(listener: (event: WatchEvent) => void): () => void {
    if (this.#listeners.size >= MAX_LISTENERS) return () => {}
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  notify(event: WatchEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : new Error(String(error)))
      }
    }
  }
}

/** The event of a second with decisions. */
export function decisionsEvent(
  tally: Tally,
  at: number,
): Extract<WatchEvent, { readonly type: "decisions" }> {
  const { rules, durations } = tally
  const { count, sum } = durations
  return {
    type: "decisions",
    at,
    requests: tally.requestTotals(),
    rules: [...rules].map(([id, { nearLimit: _nearLimit, ...counts }]) => ({ id, ...counts })),
    // Decisions that were only counted have no duration.
    durations: {
      count,
      meanMs: count === 0 ? 0 : sum / count,
      p50Ms: boundOf(durations, 0.5),
      p99Ms: boundOf(durations, 0.99),
    },
  }
}

/** JSON has no infinity, so durations beyond the last bound are reported as that bound. */
function boundOf(durations: Histogram, share: number): number {
  return Math.min(durations.quantile(share) ?? 0, DURATION_BOUNDS.at(-1) as number)
}
