// Samples how many units keys have used of their limits, for a histogram of each limit.
//
// Every key that is sampled in a second is counted once, with its last usage: a busy key does not weigh more than a quiet one.

import type { RuleDecision } from "sluice/rules"
import { Histogram } from "./histogram.js"

/** What a process has sampled in one second: rule, limit, counts by bound, sum. */
export type WindowUnitsReport = readonly (readonly [
  rule: string,
  limit: string,
  counts: readonly number[],
  sum: number,
])[]

const BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000]
/** The first decisions of a second are sampled, and then one of this many: a sample costs more than a count. */
const SAMPLED_FIRST = 64
const SAMPLED_EVERY = 64
/** The most samples of a second. */
const MAX_SAMPLES = 4_096
/** The most limits with a histogram of their own. Further ones are not counted. */
const MAX_LIMITS = 1_000

interface Sample {
  readonly rule: string
  readonly limit: string
  readonly used: number
}

export class WindowUnits {
  readonly #total = new Map<string, { rule: string; limit: string; histogram: Histogram }>()
  #samples = new Map<string, Sample>()
  #decisions = 0

  decided(decision: RuleDecision): void {
    const number = this.#decisions++
    if (number < SAMPLED_FIRST || number % SAMPLED_EVERY === 0) this.#sample(decision)
  }

  /** Ends a second: counts its samples, and returns them for the primary. */
  take(): WindowUnitsReport {
    const second = new Map<string, [string, string, Histogram]>()
    for (const { rule, limit, used } of this.#samples.values()) {
      const name = nameOf(rule, limit)
      let entry = second.get(name)
      if (entry === undefined) {
        entry = [rule, limit, new Histogram(BOUNDS)]
        second.set(name, entry)
      }
      entry[2].add(used)
    }
    this.#samples = new Map()
    this.#decisions = 0
    const report = [...second.values()].map(
      ([rule, limit, { counts, sum }]) => [rule, limit, [...counts], sum] as const,
    )
    this.merge(report)
    return report
  }

  /** Adds what another process has sampled. */
  merge(report: WindowUnitsReport): void {
    for (const [rule, limit, counts, sum] of report) this.#histogramOf(rule, limit)?.merge(counts, sum)
  }

  /** The histograms of all seconds that have ended. */
  histograms(): Iterable<{ readonly rule: string; readonly limit: string; readonly histogram: Histogram }> {
    return this.#total.values()
  }

  #sample({ degraded, rules }: RuleDecision): void {
    // A decision without the store says nothing about the counters in it.
    if (degraded !== undefined || this.#samples.size >= MAX_SAMPLES) return
    for (const { rule, key, limits, candidate } of rules) {
      if (candidate === true) continue
      for (const { name, limit, remaining } of limits)
        this.#samples.set(`${rule}\n${name}\n${key}`, { rule, limit: name, used: limit - remaining })
    }
  }

  #histogramOf(rule: string, limit: string): Histogram | undefined {
    const name = nameOf(rule, limit)
    let entry = this.#total.get(name)
    if (entry === undefined && this.#total.size < MAX_LIMITS) {
      entry = { rule, limit, histogram: new Histogram(BOUNDS) }
      this.#total.set(name, entry)
    }
    return entry?.histogram
  }
}

function nameOf(rule: string, limit: string): string {
  return `${rule}\n${limit}`
}
