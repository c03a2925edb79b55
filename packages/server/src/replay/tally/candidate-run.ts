// Runs one candidate rule set on the log: the real engine on its own store, with counts of its decisions.

import { memoryStore } from "sluice"
import {
  createRuleEngine,
  parseRuleSet,
  type RuleDecision,
  type RuleEngine,
  type RuleSetDocument,
} from "sluice/rules"
import { TopKeys } from "../../telemetry/top-keys.js"
import type { LoggedRequest } from "../log/logged-request.js"
import type { Candidate } from "../model/replay-options.js"
import type { CandidateReport, HurtReport, RuleReport } from "../model/report.js"
import { RunningRequests } from "./running-requests.js"
import { Series } from "./series.js"
import { WorstMinutes } from "./worst-minutes.js"

/** How many keys are counted exactly. See TopKeys. */
const KEYS_COUNTED = 10_000
const KEYS_SHOWN = 20

interface RuleTally {
  requests: number
  denied: number
  shadowDenied: number
}

export class CandidateRun {
  readonly name: string
  readonly document: RuleSetDocument
  readonly #engine: RuleEngine
  readonly #options: { at: number; cost?: number } = { at: 0 }
  readonly #rules = new Map<string, RuleTally>()
  readonly #keys = new TopKeys(KEYS_COUNTED)
  readonly #outright = new Map<string, number>()
  readonly #series = new Series()
  readonly #worst = new WorstMinutes()
  readonly #running: RunningRequests
  #allowed = 0
  #denied = 0
  #uncounted = 0
  #delayed = 0
  #longestDelay = 0

  constructor({ name, ruleSet }: Candidate, secret: string | undefined) {
    this.name = name
    this.document = typeof ruleSet === "string" ? parseRuleSet(ruleSet, { name }) : ruleSet
    const clock = { now: () => this.#options.at }
    this.#engine = createRuleEngine({
      rules: this.document,
      clock,
      // A full store must not look like a limit.
      store: memoryStore({ clock, onFull: "allow" }),
      ...(secret === undefined ? {} : { secret }),
    })
    this.#running = new RunningRequests(this.#engine, this.document, this.#options)
    for (const { id } of this.document.rules) this.#rules.set(id, { requests: 0, denied: 0, shadowDenied: 0 })
  }

  /** Decides a request at its own time. True if it is denied. */
  decide(request: LoggedRequest): boolean {
    this.#running.advance(request.at)
    const decision = this.#engine.checkSync(
      request,
      request.cost === undefined ? this.#options : { at: request.at, cost: request.cost },
    )
    const isDenied = !decision.allowed
    if (isDenied) this.#denied++
    else {
      this.#allowed++
      this.#running.begin(request, decision)
      if (decision.degraded !== undefined) this.#uncounted++
      if (decision.delayMs > 0) {
        this.#delayed++
        this.#longestDelay = Math.max(this.#longestDelay, decision.delayMs)
      }
    }
    this.#countRules(decision)
    const shadowDenied = decision.shadowDenied.length > 0 ? 1 : 0
    this.#series.add(request.at, isDenied ? 1 : 0, shadowDenied)
    this.#worst.add(request.at, isDenied ? 1 : 0, shadowDenied)
    return isDenied
  }

  get stepMs(): number {
    return this.#series.stepMs
  }

  report(hurt: HurtReport): CandidateReport {
    return {
      name: this.name,
      allowed: this.#allowed,
      denied: this.#denied,
      uncounted: this.#uncounted,
      delayed: { count: this.#delayed, longestMs: this.#longestDelay },
      holds: this.#running.holds,
      costs: this.#running.costs,
      rules: this.#ruleReports(),
      deniedOutright: Object.fromEntries(this.#outright),
      hurt,
      series: this.#series.steps,
      worstMinutes: this.#worst.worst,
    }
  }

  async close(): Promise<void> {
    await this.#engine.close()
  }

  #countRules(decision: RuleDecision): void {
    const { rules } = decision
    for (let i = 0; i < rules.length; i++) {
      const outcome = rules[i] as (typeof rules)[number]
      const tally = this.#rules.get(outcome.rule)
      if (tally === undefined) continue
      // A rule with candidate limits is counted already.
      if (outcome.candidate === undefined) tally.requests++
      if (outcome.allowed) continue
      if (outcome.mode === "shadow") tally.shadowDenied++
      else tally.denied++
      this.#keys.add(outcome.rule, outcome.key)
    }
    if (!decision.allowed && rules.every(({ mode }) => mode === "shadow")) this.#countOutright(decision)
  }

  #countOutright({ reason, rule }: RuleDecision): void {
    this.#outright.set(reason, (this.#outright.get(reason) ?? 0) + 1)
    const tally = rule === undefined ? undefined : this.#rules.get(rule)
    if (tally === undefined) return
    tally.requests++
    tally.denied++
  }

  #ruleReports(): RuleReport[] {
    const keys = this.#keys.top(2 * KEYS_COUNTED)
    return this.document.rules.map(({ id, mode = "enforce" }) => ({
      id,
      mode,
      ...(this.#rules.get(id) as RuleTally),
      keys: keys
        .filter(({ rule }) => rule === id)
        .slice(0, KEYS_SHOWN)
        .map(({ key, count }) => ({ key, denied: count })),
    }))
  }
}
