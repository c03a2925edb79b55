// Counts decisions by rule, and how long they took, since the last report. Small enough for a worker to send it to the primary
// every second.

import type { RuleDecision } from "sluice/rules"
import type { Counted, Protocol } from "../core.js"
import { Histogram } from "./histogram.js"

/** Stands for decisions without a rule. It cannot be a rule id, because those begin with a letter or a digit. */
export const NO_RULE = "_none"
/** Stands for all rules beyond the most that have metrics of their own. */
export const OTHER_RULES = "_other"

export interface RuleTally {
  allowed: number
  denied: number
  shadowDenied: number
  degraded: number
  /** Allowed, with more than 80 % of a limit used. */
  nearLimit: number
}

/** How many blocks a limit with a penalty began. */
export interface BlockCount {
  readonly rule: string
  readonly limit: string
  readonly count: number
}

/** A tally in the form that workers send to the primary. */
export interface TallyReport {
  readonly rules: readonly (readonly [id: string, tally: RuleTally])[]
  readonly requests: readonly (readonly [protocol: Protocol, allowed: number, denied: number])[]
  readonly blocks: readonly BlockCount[]
  readonly durations: readonly number[]
  readonly durationSumMs: number
}

const NEAR = 0.2

export class Tally {
  readonly rules = new Map<string, RuleTally>()
  readonly requests = new Map<Protocol, { allowed: number; denied: number }>()
  readonly durations = new Histogram()
  readonly #blocks = new Map<string, BlockCount>()
  readonly #maxRules: number

  constructor(maxRules: number) {
    this.#maxRules = maxRules
  }

  count(decision: RuleDecision, protocol: Protocol, durationMs: number): void {
    const { allowed } = decision
    this.durations.add(durationMs)
    const requests = this.#requestsOf(protocol)
    if (allowed) requests.allowed++
    else requests.denied++
    const { reason } = decision
    if (reason === "within-limits" || reason === "limit") this.#countRules(decision)
    else if (allowed) this.of(decision.rule ?? NO_RULE).allowed++
    // For lists, missing keys and blocks, only the decision itself names the rule that denied.
    else this.of(decision.rule ?? NO_RULE).denied++
    for (const id of decision.shadowDenied) this.of(id).shadowDenied++
    if (decision.begunBlocks !== undefined)
      for (const { rule, limit } of decision.begunBlocks) this.#addBlocks({ rule, limit, count: 1 })
  }

  /** The blocks that penalties began, by rule and limit. */
  get blocks(): readonly BlockCount[] {
    return [...this.#blocks.values()]
  }

  #addBlocks({ rule, limit, count }: BlockCount): void {
    // Rules beyond the most that have metrics of their own are counted together, and so are their limits.
    const isKnown = this.of(rule) === this.rules.get(rule)
    const names = isKnown ? { rule, limit } : { rule: OTHER_RULES, limit: OTHER_RULES }
    const id = `${names.rule}\n${names.limit}`
    this.#blocks.set(id, { ...names, count: count + (this.#blocks.get(id)?.count ?? 0) })
  }

  /** Adds decisions without a rule, of which only the number is known. */
  add({ protocol, allowed, denied, degraded }: Counted): void {
    const requests = this.#requestsOf(protocol)
    requests.allowed += allowed
    requests.denied += denied
    const tally = this.of(NO_RULE)
    tally.allowed += allowed
    tally.denied += denied
    tally.degraded += degraded
  }

  #requestsOf(protocol: Protocol): { allowed: number; denied: number } {
    let requests = this.requests.get(protocol)
    if (requests === undefined) {
      requests = { allowed: 0, denied: 0 }
      this.requests.set(protocol, requests)
    }
    return requests
  }

  #countRules({ allowed, degraded, rules }: RuleDecision): void {
    for (let i = 0; i < rules.length; i++) {
      const outcome = rules[i] as RuleDecision["rules"][number]
      if (outcome.mode !== "enforce") continue
      const tally = this.of(outcome.rule)
      // A rule that had room did not deny a request that another rule denied.
      if (allowed) tally.allowed++
      else if (!outcome.allowed) tally.denied++
      if (degraded !== undefined) tally.degraded++
      if (allowed && isNear(outcome.limits)) tally.nearLimit++
    }
  }

  /** The sum over all protocols. A request that matches two rules counts once. */
  requestTotals(): { readonly allowed: number; readonly denied: number } {
    const totals = { allowed: 0, denied: 0 }
    for (const { allowed, denied } of this.requests.values()) {
      totals.allowed += allowed
      totals.denied += denied
    }
    return totals
  }

  of(id: string): RuleTally {
    const known = this.rules.get(id)
    if (known !== undefined) return known
    const name = this.rules.size < this.#maxRules || id === NO_RULE || id === OTHER_RULES ? id : OTHER_RULES
    let tally = this.rules.get(name)
    if (tally === undefined) {
      tally = { allowed: 0, denied: 0, shadowDenied: 0, degraded: 0, nearLimit: 0 }
      this.rules.set(name, tally)
    }
    return tally
  }

  merge(report: TallyReport): void {
    for (const [id, from] of report.rules) {
      const to = this.of(id)
      to.allowed += from.allowed
      to.denied += from.denied
      to.shadowDenied += from.shadowDenied
      to.degraded += from.degraded
      to.nearLimit += from.nearLimit
    }
    for (const [protocol, allowed, denied] of report.requests) {
      const requests = this.requests.get(protocol) ?? { allowed: 0, denied: 0 }
      requests.allowed += allowed
      requests.denied += denied
      this.requests.set(protocol, requests)
    }
    for (const blocks of report.blocks) this.#addBlocks(blocks)
    this.durations.merge(report.durations, report.durationSumMs)
  }

  report(): TallyReport {
    return {
      rules: [...this.rules],
      requests: [...this.requests].map(
        ([protocol, { allowed, denied }]) => [protocol, allowed, denied] as const,
      ),
      blocks: this.blocks,
      durations: [...this.durations.counts],
      durationSumMs: this.durations.sum,
    }
  }
}

function isNear(limits: readonly { readonly limit: number; readonly remaining: number }[]): boolean {
  for (let i = 0; i < limits.length; i++) {
    const { limit, remaining } = limits[i] as (typeof limits)[number]
    if (remaining < limit * NEAR) return true
  }
  return false
}
