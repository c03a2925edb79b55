// Observes the service: counters, live events, the busiest keys, denials in the log, accuracy.
//
// A decision costs a few additions to the counts of this second. Everything else happens once a second. With several workers,
// each worker sends its second to the primary, which answers all questions.

import { type Clock, type LeaseStats, type Store, systemClock } from "sluice"
import type { StoreFailureEvent } from "sluice/redis"
import type { HoldCounts, RuleSource } from "sluice/rules"
import type { Counted, Decided, SettlementResult, Watch } from "../core.js"
import { AccuracyMonitor, type AccuracyReport } from "./accuracy.js"
import { BegunBlocks, type BlocksReport } from "./begun-blocks.js"
import { Counters, type CountersReport } from "./counters.js"
import { decisionsEvent, Listeners, type WatchEvent } from "./events.js"
import type { GatewayState } from "./gateway-metrics.js"
import { History, type HistoryReport } from "./history.js"
import { HoldTotals } from "./hold-totals.js"
import { type LeaseState, LeaseTotals } from "./lease-totals.js"
import { createLog, DenialLog, type Log } from "./log.js"
import { metricsText } from "./metrics.js"
import { openTelemetry, type Telemetry } from "./open-telemetry.js"
import { type RouteReport, RouteTally } from "./route-tally.js"
import { type StoreState, stateOfStore } from "./store-state.js"
import type { Tally } from "./tally.js"
import { type TopKey, TopKeys } from "./top-keys.js"
import { WindowUnits, type WindowUnitsReport } from "./window-units.js"
import { WorkerStates } from "./worker-states.js"

export interface WatchOptions {
  readonly log?: Log
  /** How many denials are logged per second. Default: 10. */
  readonly denialsPerSecond?: number
  /** How many rules have metrics of their own. Further rules are counted together. Default: 1,000. */
  readonly maxRules?: number
  /** How many keys are compared with the exact log. Default: 100. */
  readonly accuracyKeys?: number
  readonly version?: string
  readonly clock?: Clock
  /** How many processes answer requests. Default: 1. */
  readonly workers?: number
}

/** What a worker has observed in one second, for the primary. */
export interface WatchReport extends CountersReport {
  readonly accuracy: AccuracyReport
  readonly watching: number
  readonly units: WindowUnitsReport
  readonly blocks: BlocksReport
  readonly denied: readonly TopKey[]
  readonly used: readonly TopKey[]
  readonly breakers: StoreState["breakers"]
  readonly leases: LeaseStats | undefined
  readonly holds: readonly (readonly [rule: string, counts: HoldCounts])[]
  readonly routes: readonly RouteReport[]
  readonly gateway: GatewayState | undefined
}

/** The current state of the service. */
export interface WatchState {
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly workers: number
  readonly store: StoreState
  readonly leases: LeaseState | undefined
}

/** What to observe besides decisions. */
export interface Watched {
  readonly store?: Store
  readonly rules?: RuleSource
  readonly gateway?: () => GatewayState
  /** What the leases of this process have done. Undefined for a store without leases. */
  readonly leases?: () => LeaseStats | undefined
  /** What has become of the holds of this process, by rule. */
  readonly holds?: () => ReadonlyMap<string, HoldCounts>
}

/** No worker has this number. */
const THIS_PROCESS = -1
const TICK_MS = 1_000
const DECAY_EVERY_TICKS = 60

/** Observes a service. `close` ends its timer. */
export function createWatch(options: WatchOptions = {}): WatchHub {
  return new WatchHub(options)
}

export class WatchHub implements Watch {
  readonly log: Log
  /** The traffic of the gateway. */
  readonly routes = new RouteTally()
  readonly #clock: Clock
  readonly #version: string
  readonly #workerCount: number
  readonly #startedAt: number
  readonly #counters: Counters
  readonly #denials: DenialLog
  readonly #blocks: BegunBlocks
  readonly #listeners = new Listeners()
  readonly #history = new History()
  readonly #denied = new TopKeys()
  readonly #used = new TopKeys()
  readonly #units = new WindowUnits()
  readonly #accuracy: AccuracyMonitor
  readonly #accuracyTotal = { compared: 0, allowedTooMany: 0, deniedTooMany: 0, error: 0 }
  readonly #workers = new WorkerStates()
  readonly #leaseTotals = new LeaseTotals()
  readonly #holdTotals = new HoldTotals()
  #timer: NodeJS.Timeout
  #ticks = 0
  /** The states that listeners know. */
  #breakers: string | undefined
  #store: Store | undefined
  #rules: RuleSource | undefined
  #gateway: (() => GatewayState) | undefined
  #leases: Watched["leases"]
  #holds: Watched["holds"]
  #unfollow = () => {}
  #telemetry: Telemetry | undefined
  #onReport: ((report: WatchReport) => void) | undefined

  constructor(options: WatchOptions) {
    const { clock = systemClock } = options
    this.log = options.log ?? createLog({ level: "silent" })
    this.#clock = clock
    this.#version = options.version ?? "0.0.0"
    this.#workerCount = options.workers ?? 1
    this.#startedAt = clock.now()
    this.#counters = new Counters(options.maxRules ?? 1_000)
    this.#denials = new DenialLog(this.log, options.denialsPerSecond ?? 10)
    this.#blocks = new BegunBlocks(this.log, options.denialsPerSecond ?? 10)
    this.#accuracy = new AccuracyMonitor({ keys: options.accuracyKeys ?? 100, now: () => clock.now() })
    this.#timer = this.#tickLater()
  }

  /**
   * Ticks in the middle of each second of the clock. A timer that is a little early or late then never puts two ticks into one
   * second, which would look like a peak and a gap. Workers tick earlier, so that the primary has their reports in time.
   */
  #tickLater(): NodeJS.Timeout {
    const phase = this.#onReport === undefined ? TICK_MS / 2 : TICK_MS / 4
    const left = TICK_MS - ((this.#clock.now() + TICK_MS - phase) % TICK_MS)
    const timer = setTimeout(
      () => {
        this.#timer = this.#tickLater()
        this.tick()
      },
      left < TICK_MS / 2 ? left + TICK_MS : left,
    )
    return timer.unref()
  }

  /** Sets what to observe besides decisions. */
  attach({ store, rules, gateway, leases, holds }: Watched): void {
    this.#store = store ?? this.#store
    this.#leases = leases ?? this.#leases
    this.#holds = holds ?? this.#holds
    this.#gateway = gateway ?? this.#gateway
    if (rules === undefined) return
    this.#unfollow()
    this.#rules = rules
    this.#accuracy.follow(rules.current.document)
    this.#unfollow = rules.subscribe(({ document, revision }) => {
      this.#accuracy.follow(document)
      this.#listeners.notify({ type: "rules", at: this.#clock.now(), revision })
      // With workers, only the primary logs it.
      if (this.#onReport === undefined) this.log.info({ revision }, "rules changed")
    })
  }

  decided(event: Decided): void {
    const { decision } = event
    // A peek allows and denies nothing.
    if (event.cost === 0) return
    this.#counters.tally.count(decision, event.protocol, event.durationMs)
    this.#units.decided(decision)
    const first = decision.rules[0]
    if (!decision.allowed) {
      this.#denials.denied(event)
      this.#blocks.decided(decision)
      if (decision.rule !== undefined && first !== undefined) {
        const denying = decision.rules.find(({ rule }) => rule === decision.rule) ?? first
        this.#denied.add(denying.rule, denying.key)
      }
    } else if (first !== undefined) this.#used.add(first.rule, first.key)
    if (event.cost === undefined || event.cost === 1) this.#accuracy.decided(decision)
    this.#telemetry?.decided(event)
  }

  counted(event: Counted): void {
    this.#counters.tally.add(event)
  }

  reserved(): void {
    this.#counters.reservation("made")
  }

  settled(result: SettlementResult): void {
    this.#counters.reservation(result)
  }

  /** Also exports to OpenTelemetry. Rejects if its API package is not installed. */
  async export(): Promise<void> {
    this.#telemetry = await openTelemetry(() => {
      const { tally, failures } = this.#counters.all()
      return { rules: tally.rules, failures, keys: this.#storeState().keys }
    }, this.#version)
  }

  /** Counts a call that the store did not answer. */
  storeFailed({ failure }: StoreFailureEvent): void {
    const { kind, ambiguous, message } = failure
    const isFirst = this.#counters.failed(kind, ambiguous)
    // Logs only the first failure of a kind per second.
    if (isFirst && kind !== "breaker-open")
      this.log.warn({ kind, error: message }, "the store did not answer")
  }

  /** Ends a second: adds up its counts and notifies the listeners. The timer calls it. */
  tick(): void {
    const { tally, report } = this.#counters.take()
    const accuracy = this.#accuracy.take()
    this.#addAccuracy(accuracy)
    const units = this.#units.take()
    this.#denials.tick()
    if (tally.rules.size > 0) this.#notifyDecisions(tally)
    const blocks = this.#blocks.take()
    if (blocks.total > 0) this.#listeners.notify({ type: "blocks", at: this.#clock.now(), ...blocks })
    const { breakers } = this.#storeState()
    this.#notifyStore(breakers, report.failures)
    if (++this.#ticks % DECAY_EVERY_TICKS === 0) {
      this.#denied.decay()
      this.#used.decay()
    }
    if (this.#onReport === undefined) return
    const { watching } = this.#accuracy
    const keys = { denied: this.#denied.take(), used: this.#used.take() }
    const gateway = this.#gateway?.()
    this.#onReport({
      ...report,
      ...keys,
      accuracy,
      watching,
      units,
      blocks,
      breakers,
      leases: this.#leases?.(),
      holds: [...(this.#holds?.() ?? [])],
      routes: this.routes.take(),
      gateway,
    })
  }

  /** Sends each second to the primary, as a worker does. */
  reportTo(listener: (report: WatchReport) => void): void {
    this.#onReport = listener
  }

  /** Adds the report of a worker. */
  absorb(worker: number, report: WatchReport): void {
    this.#counters.merge(report)
    this.#addAccuracy(report.accuracy)
    this.#units.merge(report.units)
    this.#blocks.merge(report.blocks)
    this.#workers.set(worker, report)
    if (report.leases !== undefined) this.#leaseTotals.set(worker, report.leases)
    this.#holdTotals.set(worker, new Map(report.holds))
    this.routes.merge(report.routes)
    for (const { rule, key, count } of report.denied) this.#denied.add(rule, key, count)
    for (const { rule, key, count } of report.used) this.#used.add(rule, key, count)
  }

  /** Removes a worker that has ended. */
  forget(worker: number): void {
    this.#workers.delete(worker)
    this.#leaseTotals.delete(worker)
    this.#holdTotals.delete(worker)
  }

  /** The metrics in the text format of Prometheus. */
  metrics(): string {
    const { tally, failures, ambiguous, reservations } = this.#counters.all()
    const { current, stale = false } = this.#rules ?? {}
    const gateway = this.#workers.gateway(this.#gateway?.())
    this.#holdTotals.set(THIS_PROCESS, this.#holds?.() ?? new Map())
    return metricsText({
      totals: tally,
      failures,
      ambiguous,
      reservations,
      store: this.#storeState(),
      leases: this.#leaseState(),
      holds: this.#holdTotals.byRule,
      rules: current && { revision: current.revision, stale, count: current.document.rules.length },
      accuracy: { ...this.#accuracyTotal, watching: this.#workers.watching(this.#accuracy.watching) },
      units: this.#units.histograms(),
      version: this.#version,
      workers: this.#workerCount,
      gateway: gateway && { routes: this.routes, state: gateway },
    })
  }

  /** The keys that were denied, or allowed, most often of late. */
  top({ by, limit = 20 }: { readonly by: "denied" | "used"; readonly limit?: number }): TopKey[] {
    return (by === "denied" ? this.#denied : this.#used).top(limit)
  }

  /** The last 15 minutes, second by second. */
  history(): HistoryReport {
    return this.#history.report(this.#clock.now())
  }

  /** The current state of the service. */
  state(): WatchState {
    return {
      startedAt: this.#startedAt,
      workers: this.#workerCount,
      store: this.#storeState(),
      leases: this.#leaseState(),
    }
  }

  /** Sends events to a listener from now on. Returns a function that ends it. */
  subscribe(listener: (event: WatchEvent) => void): () => void {
    return this.#listeners.add(listener)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#telemetry?.close()
    this.#unfollow()
  }

  #notifyDecisions(tally: Tally): void {
    const event = decisionsEvent(tally, this.#clock.now())
    this.#history.add(tally, { at: event.at, ...event.durations })
    this.#listeners.notify(event)
  }

  #notifyStore(breakers: StoreState["breakers"], failures: CountersReport["failures"]): void {
    const now = JSON.stringify(breakers ?? {})
    const changed = this.#breakers !== undefined && this.#breakers !== now
    this.#breakers = now
    if (changed) this.log.warn({ breakers }, "a circuit breaker of the store changed its state")
    if (!changed && failures.length === 0) return
    const at = this.#clock.now()
    this.#listeners.notify({ type: "store", at, breakers, failures: Object.fromEntries(failures) })
  }

  #storeState(): StoreState {
    const own = this.#store === undefined ? {} : stateOfStore(this.#store)
    const breakers = this.#workers.breakers(own.breakers)
    return breakers === undefined ? own : { ...own, breakers }
  }

  #leaseState(): LeaseState | undefined {
    const own = this.#leases?.()
    if (own !== undefined) this.#leaseTotals.set(THIS_PROCESS, own)
    return this.#leaseTotals.state()
  }

  #addAccuracy(report: AccuracyReport): void {
    for (const field of ["compared", "allowedTooMany", "deniedTooMany", "error"] as const)
      this.#accuracyTotal[field] += report[field]
  }
}
