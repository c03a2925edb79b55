// What `sluice top` shows: the counts of each rule in the last minute, added up from the live events of the service.

import type { TopKey } from "../keys.js"

export interface RuleCounts {
  readonly allowed: number
  readonly denied: number
  readonly shadowDenied: number
}

interface DecisionsEvent {
  readonly type: "decisions"
  readonly rules: readonly (RuleCounts & { readonly id: string })[]
  readonly durations: { readonly p50Ms: number; readonly p99Ms: number }
}

type Event =
  | DecisionsEvent
  | { readonly type: "rules"; readonly revision: number }
  | { readonly type: "store"; readonly breakers: Readonly<Record<string, number>> | readonly string[] }

/** How many seconds of counts the model keeps. */
const SECONDS = 60
/** A rate is the mean of this many seconds, because counts of single seconds vary too much to read. */
const RATE_SECONDS = 5

const NOTHING: RuleCounts = { allowed: 0, denied: 0, shadowDenied: 0 }

export class TopModel {
  /** The counts of each rule, by the second in which they arrived. */
  readonly #rules = new Map<string, Map<number, RuleCounts>>()
  #now = 0
  #since: number | undefined
  durations: DecisionsEvent["durations"] | undefined
  revision: number | undefined
  /** `ready`, `degraded` or `draining`. */
  status = ""
  version = ""
  keys: readonly TopKey[] = []
  by: "denied" | "used" = "denied"
  /** Set while the connection to the service is lost. */
  connectionProblem: string | undefined

  /** Moves the model to the current time and drops counts that are too old. */
  tick(nowMs: number): void {
    this.#now = Math.floor(nowMs / 1_000)
    this.#since ??= this.#now
    for (const [id, seconds] of this.#rules) {
      for (const second of seconds.keys()) if (second <= this.#now - SECONDS) seconds.delete(second)
      if (seconds.size === 0) this.#rules.delete(id)
    }
  }

  update(event: Event, nowMs: number): void {
    this.tick(nowMs)
    if (event.type === "rules") this.revision = event.revision
    if (event.type !== "decisions") return
    this.durations = event.durations
    for (const { id, allowed, denied, shadowDenied } of event.rules) {
      const seconds = this.#rules.get(id) ?? new Map<number, RuleCounts>()
      seconds.set(this.#now, sum([seconds.get(this.#now) ?? NOTHING, { allowed, denied, shadowDenied }]))
      this.#rules.set(id, seconds)
    }
  }

  /** The rules with decisions in the last minute, the busiest first. */
  get rules(): { readonly id: string; readonly rate: RuleCounts; readonly series: readonly number[] }[] {
    return [...this.#rules]
      .map(([id, seconds]) => ({
        id,
        rate: this.#rateOf(seconds),
        series: this.#seriesOf(seconds),
        total: totalOf(seconds),
      }))
      .sort((a, b) => b.total - a.total || (a.id < b.id ? -1 : 1))
  }

  /** Decisions per second of all rules together. */
  get rate(): RuleCounts {
    return sum([...this.#rules.values()].map((seconds) => this.#rateOf(seconds)))
  }

  #rateOf(seconds: ReadonlyMap<number, RuleCounts>): RuleCounts {
    // Right after the start, fewer seconds have passed.
    const span = Math.max(1, Math.min(RATE_SECONDS, this.#now - (this.#since ?? this.#now) + 1))
    const { allowed, denied, shadowDenied } = sum(
      Array.from({ length: span }, (_, i) => seconds.get(this.#now - i) ?? NOTHING),
    )
    return { allowed: allowed / span, denied: denied / span, shadowDenied: shadowDenied / span }
  }

  /** The number of requests in each second of the last minute, the newest last. */
  #seriesOf(seconds: ReadonlyMap<number, RuleCounts>): number[] {
    return Array.from({ length: SECONDS }, (_, i) => {
      const { allowed, denied } = seconds.get(this.#now - SECONDS + 1 + i) ?? NOTHING
      return allowed + denied
    })
  }
}

function sum(counts: readonly RuleCounts[]): RuleCounts {
  return counts.reduce(
    (a, b) => ({
      allowed: a.allowed + b.allowed,
      denied: a.denied + b.denied,
      shadowDenied: a.shadowDenied + b.shadowDenied,
    }),
    NOTHING,
  )
}

function totalOf(seconds: ReadonlyMap<number, RuleCounts>): number {
  const { allowed, denied } = sum([...seconds.values()])
  return allowed + denied
}
