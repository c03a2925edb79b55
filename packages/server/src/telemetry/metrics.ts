// The names and help texts of all metrics. A test checks that deploy/ uses only these names, and that the Grafana dashboard
// shows each of them.

import type { HoldCounts } from "sluice/rules"
import type { ReservationCount } from "./counters.js"
import { Exposition } from "./exposition.js"
import { type GatewayState, gatewayMetrics } from "./gateway-metrics.js"
import type { LeaseState } from "./lease-totals.js"
import type { RouteTally } from "./route-tally.js"
import type { StoreState } from "./store-state.js"
import type { RuleTally, Tally } from "./tally.js"
import type { WindowUnits } from "./window-units.js"

export interface MetricsInput {
  readonly totals: Tally
  readonly failures: ReadonlyMap<string, number>
  readonly ambiguous: number
  readonly reservations: ReadonlyMap<ReservationCount, number>
  readonly store: StoreState
  readonly leases?: LeaseState | undefined
  readonly holds?: ReadonlyMap<string, HoldCounts>
  readonly rules?: { readonly revision: number; readonly stale: boolean; readonly count: number } | undefined
  readonly accuracy: {
    compared: number
    allowedTooMany: number
    deniedTooMany: number
    error: number
    watching: number
  }
  /** The sampled usage of each limit. */
  readonly units: ReturnType<WindowUnits["histograms"]>
  readonly version: string
  readonly workers: number
  readonly gateway?: { readonly routes: RouteTally; readonly state: GatewayState } | undefined
}

const BY_RULE: readonly (readonly [name: string, field: keyof RuleTally, help: string])[] = [
  ["sluice_allowed_total", "allowed", "Requests that a rule allowed."],
  ["sluice_denied_total", "denied", "Requests that a rule denied."],
  [
    "sluice_shadow_denied_total",
    "shadowDenied",
    "Requests that a shadow or candidate rule would have denied.",
  ],
  [
    "sluice_degraded_total",
    "degraded",
    "Decisions of a rule that were made without the store, because it failed.",
  ],
  [
    "sluice_near_limit_total",
    "nearLimit",
    "Allowed requests after which less than 20 % of a limit remained.",
  ],
]

const HOLDS_BY_RULE: readonly (readonly [name: string, field: keyof HoldCounts, help: string])[] = [
  ["sluice_holds_acquired_total", "acquired", "Holds that requests have acquired by limits of concurrency."],
  ["sluice_holds_released_total", "released", "Holds that were released before they ended by themselves."],
  [
    "sluice_holds_late_total",
    "late",
    "Releases and extensions after the end of a hold, because it ended by itself or was released before.",
  ],
]

export function metricsText(input: MetricsInput): string {
  const { totals, failures, store, rules, accuracy } = input
  const text = new Exposition()
  for (const [name, field, help] of BY_RULE) {
    text.metric(name, "counter", help)
    for (const [rule, tally] of totals.rules) text.sample(name, tally[field], { rule })
  }
  text.metric("sluice_blocks_begun_total", "counter", "Blocks that the penalty of a limit began.")
  for (const { rule, limit, count } of totals.blocks)
    text.sample("sluice_blocks_begun_total", count, { rule, limit })
  text.metric("sluice_requests_total", "counter", "Checks by protocol and decision.")
  for (const [protocol, { allowed, denied }] of totals.requests) {
    text.sample("sluice_requests_total", allowed, { protocol, decision: "allowed" })
    text.sample("sluice_requests_total", denied, { protocol, decision: "denied" })
  }
  const durations = "sluice_decision_duration_seconds"
  text.metric(durations, "histogram", "How long a decision took, including the call to the store.")
  text.durations(durations, totals.durations)
  text.metric(
    "sluice_window_units",
    "histogram",
    "Units that a key has used of a limit, of sampled keys, once a second for each.",
  )
  for (const { rule, limit, histogram } of input.units)
    text.histogram("sluice_window_units", histogram, { rule, limit })
  text.metric("sluice_store_failures_total", "counter", "Failed calls to the store, by kind of failure.")
  for (const [kind, count] of failures) text.sample("sluice_store_failures_total", count, { kind })
  text.single(
    "sluice_store_ambiguous_total",
    "counter",
    "Failed calls after which it is unknown whether the store has charged.",
    input.ambiguous,
  )
  storeMetrics(text, store)
  reservationMetrics(text, input.reservations)
  if (input.leases !== undefined) leaseMetrics(text, input.leases)
  for (const [name, field, help] of HOLDS_BY_RULE) {
    text.metric(name, "counter", help)
    for (const [rule, counts] of input.holds ?? []) text.sample(name, counts[field], { rule })
  }
  text.single("sluice_rules_revision", "gauge", "The revision of the current rules.", rules?.revision)
  text.single(
    "sluice_rules_stale",
    "gauge",
    "1 while the rules may be out of date, otherwise 0.",
    rules && Number(rules.stale),
  )
  text.single("sluice_rules_count", "gauge", "The number of rules.", rules?.count)
  accuracyMetrics(text, accuracy)
  if (input.gateway !== undefined) gatewayMetrics(text, input.gateway.routes, input.gateway.state)
  text
    .metric("sluice_info", "gauge", "Always 1. The label has the version of the service.")
    .sample("sluice_info", 1, { version: input.version })
  text.single("sluice_workers", "gauge", "The number of processes that answer requests.", input.workers)
  processMetrics(text)
  return text.toString()
}

function storeMetrics(
  text: Exposition,
  { keys, bytes, evicted, refused, breakers, instances }: StoreState,
): void {
  text.single("sluice_store_keys", "gauge", "Keys in the memory store.", keys)
  text.single("sluice_store_bytes", "gauge", "Bytes of memory that the memory store uses.", bytes)
  text.single(
    "sluice_store_evicted_total",
    "counter",
    "Keys that the memory store removed to make room for new ones.",
    evicted,
  )
  text.single(
    "sluice_store_refused_total",
    "counter",
    "Decisions about a new key while the memory store was full.",
    refused,
  )
  text.single(
    "sluice_store_instances",
    "gauge",
    "Instances of the service that share the store, as last known.",
    instances,
  )
  if (breakers === undefined) return
  text.metric(
    "sluice_store_breakers",
    "gauge",
    "Circuit breakers of the store by state. A closed breaker means that the store works.",
  )
  for (const [state, count] of Object.entries(breakers))
    text.sample("sluice_store_breakers", count, { state })
}

const SETTLEMENT_RESULTS = ["settled", "repeated", "expired", "unknown", "failed"] as const

function reservationMetrics(text: Exposition, counts: MetricsInput["reservations"]): void {
  text.single(
    "sluice_reservation_made_total",
    "counter",
    "Reservations that were made.",
    counts.get("made") ?? 0,
  )
  text.metric(
    "sluice_reservation_settled_total",
    "counter",
    "Calls to settle a reservation, by their result.",
  )
  for (const result of SETTLEMENT_RESULTS)
    text.sample("sluice_reservation_settled_total", counts.get(result) ?? 0, { result })
}

function leaseMetrics(text: Exposition, leases: LeaseState): void {
  const { keys, held, spent, returned, wasted, answered, calls } = leases
  text.single("sluice_lease_keys", "gauge", "Keys with a lease.", keys)
  text.single("sluice_lease_held_units", "gauge", "Units of leases that are not spent yet.", held)
  text.metric(
    "sluice_lease_units_total",
    "counter",
    "Units of leases that have ended, by what became of them.",
  )
  for (const [use, units] of Object.entries({ spent, returned, wasted }))
    text.sample("sluice_lease_units_total", units, { use })
  text.single(
    "sluice_lease_answered_total",
    "counter",
    "Checks that a lease or a remembered denial answered without a call to the store.",
    answered,
  )
  text.single(
    "sluice_lease_calls_total",
    "counter",
    "Calls to the store that took or returned a lease. The checks answered minus these are the calls saved.",
    calls,
  )
}

function accuracyMetrics(text: Exposition, accuracy: MetricsInput["accuracy"]): void {
  const { compared, allowedTooMany, deniedTooMany, error, watching } = accuracy
  text.single(
    "sluice_accuracy_keys",
    "gauge",
    "Keys whose approximate limits are compared with an exact log.",
    watching,
  )
  text.single(
    "sluice_accuracy_compared_total",
    "counter",
    "Estimates that were compared with the exact log, both of the requests that this instance admitted.",
    compared,
  )
  text.metric(
    "sluice_accuracy_differing_total",
    "counter",
    "Compared estimates that decide unlike the exact log of the same requests, by the decision of the estimate.",
  )
  text.sample("sluice_accuracy_differing_total", allowedTooMany, { decision: "allowed" })
  text.sample("sluice_accuracy_differing_total", deniedTooMany, { decision: "denied" })
  text.single(
    "sluice_accuracy_differing_ratio",
    "gauge",
    "The share of compared estimates that decide unlike the exact log, since the start.",
    compared === 0 ? 0 : (allowedTooMany + deniedTooMany) / compared,
  )
  text.single(
    "sluice_accuracy_mean_error_ratio",
    "gauge",
    "The mean difference between estimated and exact usage by the requests of this instance, as a share of the limit.",
    compared === 0 ? 0 : error / compared,
  )
}

function processMetrics(text: Exposition): void {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  text.single("process_resident_memory_bytes", "gauge", "Resident memory of this process in bytes.", rss)
  text.single(
    "process_cpu_seconds_total",
    "counter",
    "Processor time of this process in seconds.",
    (user + system) / 1e6,
  )
  text.single(
    "process_start_time_seconds",
    "gauge",
    "The time when this process started, in seconds since 1970.",
    performance.timeOrigin / 1000,
  )
  text.single("nodejs_heap_size_used_bytes", "gauge", "Bytes in use of the JavaScript heap.", heapUsed)
}
