// What the service decided in the last 15 minutes, second by second: its history first, then its live events.

import { effect, signal } from "@preact/signals"
import { ask } from "./api.js"
import { Columns } from "./columns.js"
import { Gaps } from "./gaps.js"
import { connection, type LiveEvent, lastHeard, onEvent } from "./live.js"
import { session } from "./session.js"

/** How far back pages can look. */
export const SPAN_SECONDS = 900

export const OUTCOMES = ["allowed", "denied", "shadowDenied", "degraded"] as const
export type Outcome = (typeof OUTCOMES)[number]
export type Counts = Readonly<Record<Outcome, number>>

interface History {
  readonly from: number
  readonly seconds: number
  readonly requests: Readonly<Record<"allowed" | "denied", readonly number[]>>
  readonly durations: Readonly<Record<"p50Ms" | "p99Ms", readonly number[]>>
  readonly rules: readonly ({ readonly id: string } & Readonly<Record<Outcome, readonly number[]>>)[]
}

/** The decisions of one second. */
interface SecondReport {
  readonly requests: { readonly allowed: number; readonly denied: number }
  readonly rules: readonly ({ readonly id: string } & Counts)[]
  readonly durations: { readonly p50Ms: number; readonly p99Ms: number }
}

type DecisionsEvent = LiveEvent & SecondReport

/** Allowed and denied count requests. The other outcomes are sums over rules: a request can have several. */
const OVERALL = [...OUTCOMES, "p50Ms", "p99Ms"] as const

const overall = new Columns(OVERALL, SPAN_SECONDS)
const byRule = new Map<string, Columns<Outcome>>()
const gaps = new Gaps()

/** The newest whole second, by the clock of the service. It advances each second; components that read it are drawn again. */
export const newest = signal(0)
/** Whether the page has seen any decision. */
export const hasTraffic = signal(false)
/** By how many milliseconds the clock of this machine is ahead of the service's. Undefined until the service has answered. */
let aheadMs: number | undefined

/** Follows the service while somebody is signed in. Returns a function that stops it. */
export function followTraffic(): () => void {
  const endings = [
    effect(() => {
      if (session.value === undefined) return
      if (connection.value !== "lost") void loadHistory()
      else if (aheadMs !== undefined) gaps.open(secondOf(lastHeard.peek() - aheadMs))
    }),
    onEvent<DecisionsEvent>("decisions", add),
    // The service dropped events for this page. Its history still has what was in them.
    onEvent("missed", () => void loadHistory()),
  ]
  const timer = setInterval(advance, 1_000)
  return () => {
    clearInterval(timer)
    for (const end of endings) end()
  }
}

/** The last `count` seconds of all requests, oldest first. Null where the page does not know. */
export function overallSeries(
  field: (typeof OVERALL)[number],
  count = SPAN_SECONDS,
): readonly (number | null)[] {
  return withGaps(overall.read(field, newest.value, count))
}

/** The last `count` seconds of one rule, oldest first. Null where the page does not know. */
export function ruleSeries(rule: string, outcome: Outcome, count = SPAN_SECONDS): readonly (number | null)[] {
  // Always read the signal, so that a rule without decisions is drawn again too.
  const upTo = newest.value
  return withGaps(byRule.get(rule)?.read(outcome, upTo, count) ?? new Array<number>(count).fill(0))
}

/** The decisions of one rule in the last `count` seconds. Undefined if the page knows none of these seconds. */
export function ruleTotals(rule: string, count: number): Counts | undefined {
  const upTo = newest.value
  if (gaps.has(upTo) && gaps.has(upTo - count + 1)) return undefined
  const columns = byRule.get(rule)
  const totals = OUTCOMES.map((outcome) => [outcome, columns?.sum(outcome, upTo, count) ?? 0])
  return Object.fromEntries(totals)
}

/** A second with decisions is known even inside a gap. */
function withGaps(values: readonly number[]): readonly (number | null)[] {
  const first = newest.value - values.length + 1
  return values.map((value, i) => (value === 0 && gaps.has(first + i) ? null : value))
}

/** The rules that the page has seen decisions of. */
export function activeRules(): string[] {
  void newest.value
  return [...byRule.keys()]
}

/** The seconds of a series by the clock of this machine, for the axis of a chart. */
export function secondsOf(count = SPAN_SECONDS): number[] {
  const last = newest.value + Math.round((aheadMs ?? 0) / 1_000)
  return Array.from({ length: count }, (_, i) => last - count + 1 + i)
}

async function loadHistory(): Promise<void> {
  const asked = Date.now()
  const [{ data: history }, { data: status }] = await Promise.all([
    ask<History>("GET", "history"),
    ask<{ now: number; startedAt: number }>("GET", "status"),
  ]).catch(() => [{ data: undefined }, { data: undefined }])
  // Not reachable: this runs again when live events arrive.
  if (history === undefined || status === undefined) return
  aheadMs = (asked + Date.now()) / 2 - status.now
  gaps.close(Math.max(secondOf(status.startedAt), history.from / 1_000))
  const first = history.from / 1_000
  for (let i = 0; i < history.seconds; i++) {
    const report = secondOfHistory(history, i)
    // A service that was restarted knows less than the page, so its zeros do not replace anything.
    if (report.requests.allowed + report.requests.denied > 0) put(first + i, report)
  }
  advance()
}

/** A second of the history in the form of a live event. */
function secondOfHistory({ requests, durations, rules }: History, i: number): SecondReport {
  const at = (column: readonly number[]) => column[i] ?? 0
  return {
    requests: { allowed: at(requests.allowed), denied: at(requests.denied) },
    durations: { p50Ms: at(durations.p50Ms), p99Ms: at(durations.p99Ms) },
    rules: rules
      .map(({ id, allowed, denied, shadowDenied, degraded }) => ({
        id,
        allowed: at(allowed),
        denied: at(denied),
        shadowDenied: at(shadowDenied),
        degraded: at(degraded),
      }))
      .filter((counts) => OUTCOMES.some((outcome) => counts[outcome] > 0)),
  }
}

function add(event: DecisionsEvent): void {
  const second = secondOf(event.at)
  put(second, event)
  if (second > newest.value) newest.value = second
}

function put(second: number, { requests, rules, durations }: SecondReport): void {
  const summed = { shadowDenied: 0, degraded: 0 }
  for (const { id, ...counts } of rules) {
    columnsOf(id).set(second, counts)
    summed.shadowDenied += counts.shadowDenied
    summed.degraded += counts.degraded
  }
  overall.set(second, { ...requests, ...summed, ...durations })
  hasTraffic.value = true
}

/** Shows up to the second before the current one. The current second is incomplete: charts would end in a drop. */
function advance(): void {
  if (aheadMs === undefined) return
  newest.value = Math.max(newest.value, secondOf(Date.now() - aheadMs) - 1)
}

function columnsOf(rule: string): Columns<Outcome> {
  const known = byRule.get(rule)
  if (known !== undefined) return known
  const made = new Columns(OUTCOMES, SPAN_SECONDS)
  byRule.set(rule, made)
  return made
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}
