// Counts the gateway's requests by route. Routes come from the configuration and are few, so they can be metric labels.

import { Histogram } from "./histogram.js"

/** Upper bounds in milliseconds. A small answer takes one or two, a report may take a minute. */
export const ROUTE_BOUNDS: readonly number[] = [
  1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000,
]

export const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const

export interface RouteCounts {
  /** Counts by status class. */
  readonly statuses: Float64Array
  readonly durations: Histogram
  /** Requests that a queueing limit delayed. */
  readonly queued: Histogram
  /** Counts by the kind of upstream failure. */
  readonly errors: Map<string, number>
}

/** The counts of a route in the form that workers send to the primary. */
export interface RouteReport {
  readonly route: string
  readonly statuses: readonly number[]
  readonly durations: readonly number[]
  readonly durationSumMs: number
  readonly queued: readonly number[]
  readonly queuedSumMs: number
  readonly errors: readonly (readonly [error: string, count: number])[]
}

export class RouteTally {
  readonly routes = new Map<string, RouteCounts>()

  count(route: string, status: number, durationMs: number, queuedMs: number, error?: string): void {
    const counts = this.#of(route)
    const at = (status / 100 - 1) | 0
    if (at >= 0 && at < STATUS_CLASSES.length) counts.statuses[at] = (counts.statuses[at] as number) + 1
    counts.durations.add(durationMs)
    if (queuedMs > 0) counts.queued.add(queuedMs)
    if (error !== undefined) counts.errors.set(error, (counts.errors.get(error) ?? 0) + 1)
  }

  merge(reports: readonly RouteReport[]): void {
    for (const report of reports) {
      const { statuses, durations, queued, errors } = this.#of(report.route)
      report.statuses.forEach((count, i) => {
        statuses[i] = (statuses[i] as number) + count
      })
      durations.merge(report.durations, report.durationSumMs)
      queued.merge(report.queued, report.queuedSumMs)
      for (const [error, count] of report.errors) errors.set(error, (errors.get(error) ?? 0) + count)
    }
  }

  /** Returns the counts and starts again from zero. */
  take(): RouteReport[] {
    const reports = [...this.routes].map(([route, { statuses, durations, queued, errors }]) => ({
      route,
      statuses: [...statuses],
      durations: [...durations.counts],
      durationSumMs: durations.sum,
      queued: [...queued.counts],
      queuedSumMs: queued.sum,
      errors: [...errors],
    }))
    this.routes.clear()
    return reports
  }

  #of(route: string): RouteCounts {
    let counts = this.routes.get(route)
    if (counts === undefined) {
      counts = {
        statuses: new Float64Array(STATUS_CLASSES.length),
        durations: new Histogram(ROUTE_BOUNDS),
        queued: new Histogram(ROUTE_BOUNDS),
        errors: new Map(),
      }
      this.routes.set(route, counts)
    }
    return counts
  }
}
