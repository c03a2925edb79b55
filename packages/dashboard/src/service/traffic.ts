// What the service decided in the last quarter of an hour, second by second: its history, and live events from then on.

import { effect, signal } from "@preact/signals"
import { ask } from "./api.js"
import { Columns } from "./columns.js"
import { connection, type LiveEvent, onEvent } from "./live.js"
import { session } from "./session.js"

/** How far back a page looks. */
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

/** What was decided in one second. */
interface Told {
  readonly requests: { readonly allowed: number; readonly denied: number }
  readonly rules: readonly ({ readonly id: string } & Counts)[]
  readonly durations: { readonly p50Ms: number; readonly p99Ms: number }
}

type DecisionsEvent = LiveEvent & Told

/** Of requests: allowed and denied. Added up over the rules: the others, which a request may have several of. */
const OVERALL = [...OUTCOMES, "p50Ms", "p99Ms"] as const

const overall = new Columns(OVERALL, SPAN_SECONDS)
const byRule = new Map<string, Columns<Outcome>>()

/** The newest whole second, by the clock of the service. Moves on each second: who reads it is drawn again then. */
export const newest = signal(0)
/** Whether there was any decision since the page looks. */
export const hasTraffic = signal(false)
/** By how much this machine's clock is ahead of the service's, in milliseconds. Undefined until the service was asked. */
let aheadMs: number | undefined

/** Follows the service for as long as somebody is signed in. */
export function followTraffic(): () => void {
  const endings = [
    effect(() => {
      // Also when it is back: it may have been away when it was first asked.
      if (session.value !== undefined && connection.value !== "lost") void loadHistory()
    }),
    onEvent<DecisionsEvent>("decisions", add),
    // Some events are lost: the service may still know what was in them.
    onEvent("missed", () => void loadHistory()),
  ]
  const timer = setInterval(moveOn, 1_000)
  return () => {
    clearInterval(timer)
    for (const end of endings) end()
  }
}

/** Requests, what became of them, and how long decisions took: the last `count` seconds, oldest first. */
export function overallSeries(field: (typeof OVERALL)[number], count = SPAN_SECONDS): number[] {
  return overall.read(field, newest.value, count)
}

/** What one rule decided: the last `count` seconds, oldest first. */
export function ruleSeries(rule: string, outcome: Outcome, count = SPAN_SECONDS): number[] {
  // Read in any case: a rule that has decided nothing yet is drawn again, too.
  const upTo = newest.value
  return byRule.get(rule)?.read(outcome, upTo, count) ?? new Array(count).fill(0)
}

/** What one rule decided in the last `count` seconds, added up. */
export function ruleTotals(rule: string, count: number): Counts {
  const upTo = newest.value
  const columns = byRule.get(rule)
  const totals = OUTCOMES.map((outcome) => [outcome, columns?.sum(outcome, upTo, count) ?? 0])
  return Object.fromEntries(totals)
}

/** The rules that decided anything since the page looks. */
export function activeRules(): string[] {
  void newest.value
  return [...byRule.keys()]
}

/** The seconds of a series on this machine's clock, for the axis of a chart. */
export function secondsOf(count = SPAN_SECONDS): number[] {
  const last = newest.value + Math.round((aheadMs ?? 0) / 1_000)
  return Array.from({ length: count }, (_, i) => last - count + 1 + i)
}

async function loadHistory(): Promise<void> {
  const asked = Date.now()
  const [{ data: history }, { data: status }] = await Promise.all([
    ask<History>("GET", "history"),
    ask<{ now: number }>("GET", "status"),
  ]).catch(() => [{ data: undefined }, { data: undefined }])
  // The service is away: live events say so, and it is asked again once they come.
  if (history === undefined || status === undefined) return
  aheadMs = (asked + Date.now()) / 2 - status.now
  const first = history.from / 1_000
  for (let i = 0; i < history.seconds; i++) {
    const told = secondOfHistory(history, i)
    // A service that was started again knows less than the page: what it has nothing of stays.
    if (told.requests.allowed + told.requests.denied > 0) put(first + i, told)
  }
  moveOn()
}

/** A second of the history, as the event that told of it. */
function secondOfHistory({ requests, durations, rules }: History, i: number): Told {
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

function put(second: number, { requests, rules, durations }: Told): void {
  const summed = { shadowDenied: 0, degraded: 0 }
  for (const { id, ...counts } of rules) {
    columnsOf(id).set(second, counts)
    summed.shadowDenied += counts.shadowDenied
    summed.degraded += counts.degraded
  }
  overall.set(second, { ...requests, ...summed, ...durations })
  hasTraffic.value = true
}

/**
 * The second before this one, because this one is not over: charts would end in a fall. It is told in its middle, so that
 * what is shown is at most a second and a half old.
 */
function moveOn(): void {
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
