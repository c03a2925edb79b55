// Keeps the last 15 minutes second by second, for a page that is opened now.

import { OTHER_RULES, type RuleTally, type Tally } from "./tally.js"

const SECONDS = 900
/** The busiest rules have a history of their own, the others share one. This keeps an answer below half a megabyte. */
const MAX_RULES = 50

const FIELDS = ["allowed", "denied", "shadowDenied", "degraded"] as const
type Field = (typeof FIELDS)[number]

/** One number per second, oldest first. */
type Column = number[]

export interface RuleHistory extends Readonly<Record<Field, Column>> {
  readonly id: string
}

export interface HistoryReport {
  /** The first second, in milliseconds since 1970. Each next number in a column is one second later. */
  readonly from: number
  /** How many numbers each column has. */
  readonly seconds: number
  readonly requests: { readonly allowed: Column; readonly denied: Column }
  /** A second without decisions is 0. */
  readonly durations: { readonly p50Ms: Column; readonly p99Ms: Column }
  readonly rules: readonly RuleHistory[]
}

/** A second with decisions. */
interface Second {
  readonly at: number
  readonly requests: { readonly allowed: number; readonly denied: number }
  readonly p50Ms: number
  readonly p99Ms: number
  readonly rules: readonly (readonly [id: string, tally: Readonly<Record<Field, number>>])[]
}

export class History {
  /** Oldest first. */
  readonly #seconds: Second[] = []

  add(tally: Tally, { at, p50Ms, p99Ms }: { at: number; p50Ms: number; p99Ms: number }): void {
    const rules = capped([...tally.rules])
    this.#seconds.push({ at: secondOf(at), requests: tally.requestTotals(), p50Ms, p99Ms, rules })
    if (this.#seconds.length > SECONDS) this.#seconds.shift()
  }

  /** The history up to now. */
  report(now: number): HistoryReport {
    const first = secondOf(now) - SECONDS + 1
    const requests = { allowed: column(), denied: column() }
    const durations = { p50Ms: column(), p99Ms: column() }
    const rules = new Map<string, RuleHistory>()
    for (const second of this.#seconds) {
      const i = second.at - first
      if (i < 0 || i >= SECONDS) continue
      add(requests.allowed, i, second.requests.allowed)
      add(requests.denied, i, second.requests.denied)
      durations.p50Ms[i] = second.p50Ms
      durations.p99Ms[i] = second.p99Ms
      for (const [id, tally] of second.rules) {
        const known = rules.get(id)
        const own = known ?? placeFor(rules, id)
        for (const field of FIELDS) add(own[field], i, tally[field])
      }
    }
    return { from: first * 1_000, seconds: SECONDS, requests, durations, rules: [...rules.values()] }
  }
}

/** The busy rules change within 15 minutes. Once all places are taken, further rules share one. */
function placeFor(rules: Map<string, RuleHistory>, id: string): RuleHistory {
  const name = rules.size < MAX_RULES ? id : OTHER_RULES
  const known = rules.get(name)
  if (known !== undefined) return known
  const made = { id: name, allowed: column(), denied: column(), shadowDenied: column(), degraded: column() }
  rules.set(name, made)
  return made
}

/** The busiest rules, and the sum of all others. */
function capped(rules: readonly (readonly [id: string, tally: RuleTally])[]): Second["rules"] {
  if (rules.length <= MAX_RULES) return rules.map(([id, tally]) => [id, { ...tally }])
  const busiest = [...rules].sort(([, a], [, b]) => b.allowed + b.denied - a.allowed - a.denied)
  const others = { allowed: 0, denied: 0, shadowDenied: 0, degraded: 0 }
  for (const [, tally] of busiest.splice(MAX_RULES - 1)) {
    for (const field of FIELDS) others[field] += tally[field]
  }
  return [...busiest.map(([id, tally]) => [id, { ...tally }] as const), [OTHER_RULES, others]]
}

function column(): Column {
  return new Array(SECONDS).fill(0)
}

function add(to: Column, i: number, count: number): void {
  to[i] = (to[i] as number) + count
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000)
}
