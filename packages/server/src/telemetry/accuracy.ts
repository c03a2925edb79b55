// Compares an approximate algorithm with the exact one on live traffic. For a sample of keys it logs the requests that this
// instance admitted, and computes both the estimate and the exact usage from that log. The counters in the store would not do:
// they also count the requests of other instances, which are not in the log. The log records the decisions that were really made,
// so a difference concerns one decision and not those before it.

import { isCalendarUnit, windowMsOf } from "sluice/internal"
import type { RuleDecision, RuleOutcome, RuleSetDocument } from "sluice/rules"

export interface AccuracyReport {
  /** How many decisions were compared. */
  readonly compared: number
  /** The estimate has room, although the exact log has none. */
  readonly allowedTooMany: number
  /** The estimate has no room, although the exact log has. */
  readonly deniedTooMany: number
  /** The sum of all errors of the estimate, each as a share of the limit. */
  readonly error: number
}

export interface AccuracyOptions {
  /** How many keys are watched at a time. */
  readonly keys: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A key that is watched for one rule. */
interface Watched {
  /** By the name of the limit. Only approximate limits have a log. */
  readonly logs: ReadonlyMap<string, AdmittedLog>
  /** From this time on the logs cover everything that the estimates know. */
  readonly ripeAt: number
  readonly until: number
}

interface WatchedRule {
  /** The number of buckets of each approximate limit, by `limit/windowMs`. */
  readonly limits: ReadonlyMap<string, number>
  readonly keys: Map<string, Watched>
}

/** One in this many decisions on other keys may add its key to the sample. */
const PICK_EVERY = 16
/** A key stays in the sample for this many windows. */
const WINDOWS = 10
/** Longer windows are not watched: a key with a window of a day would stay for ten days. */
const MAX_WINDOW_MS = 3_600_000

export class AccuracyMonitor {
  readonly #maxKeys: number
  readonly #now: () => number
  #rules: ReadonlyMap<string, WatchedRule> = new Map()
  #watching = 0
  #unwatched = 0
  #total = { compared: 0, allowedTooMany: 0, deniedTooMany: 0, error: 0 }

  constructor({ keys, now }: AccuracyOptions) {
    this.#maxKeys = keys
    this.#now = now
  }

  /** Finds the approximate limits whose cost is always 1, because a decision does not hold its cost. */
  follow(document: RuleSetDocument): void {
    const limits = this.#maxKeys === 0 ? [] : [...approximateLimits(document)]
    this.#rules = new Map(limits.map(([id, found]) => [id, { limits: found, keys: new Map() }]))
    this.#watching = 0
  }

  /** Observes a decision. A key that is not watched costs two look-ups. */
  decided({ allowed, degraded, rules }: RuleDecision): void {
    if (this.#rules.size === 0 || degraded !== undefined) return
    for (let i = 0; i < rules.length; i++) {
      const outcome = rules[i] as RuleOutcome
      const rule = outcome.mode === "enforce" ? this.#rules.get(outcome.rule) : undefined
      if (rule === undefined) continue
      const watched = rule.keys.get(outcome.key)
      if (watched !== undefined) this.#compare(rule, watched, outcome, allowed)
      else if (++this.#unwatched % PICK_EVERY === 0) this.#pick(rule, outcome, allowed)
    }
  }

  #compare(rule: WatchedRule, watched: Watched, outcome: RuleOutcome, allowed: boolean): void {
    const now = this.#now()
    let isFull = false
    for (const { name, limit } of outcome.limits) {
      const log = watched.logs.get(name)
      if (log === undefined) continue
      const exact = log.usedAt(now)
      const estimate = log.estimateAt(now)
      if (allowed) log.add(now)
      isFull ||= log.isFull
      // A tier or an override may have other numbers under the same limit name.
      if (now < watched.ripeAt || limit !== log.limit) continue
      const total = this.#total
      total.compared++
      if (estimate < limit && exact >= limit) total.allowedTooMany++
      if (estimate >= limit && exact < limit) total.deniedTooMany++
      total.error += Math.abs(estimate - exact) / limit
    }
    if (now < watched.until && !isFull) return
    rule.keys.delete(outcome.key)
    this.#watching--
  }

  #pick(rule: WatchedRule, { key, limits }: RuleOutcome, allowed: boolean): void {
    const now = this.#now()
    if (this.#watching >= this.#maxKeys && !this.#makeRoom(now)) return
    const logs = new Map<string, AdmittedLog>()
    let longest = 0
    for (const { name, limit, windowMs } of limits) {
      const buckets = rule.limits.get(`${limit}/${windowMs}`)
      if (windowMs > MAX_WINDOW_MS || buckets === undefined) continue
      const log = new AdmittedLog(limit, windowMs, buckets)
      if (allowed) log.add(now)
      logs.set(name, log)
      longest = Math.max(longest, windowMs)
    }
    if (logs.size === 0) return
    // The estimate looks back two windows. Before that it may include requests that the log has not seen.
    rule.keys.set(key, { logs, ripeAt: now + 2 * longest, until: now + WINDOWS * longest })
    this.#watching++
  }

  /** Removes keys that get no more requests. It checks the oldest key of each rule. */
  #makeRoom(now: number): boolean {
    for (const { keys } of this.#rules.values()) {
      for (const [key, { until }] of keys) {
        if (until > now) break
        keys.delete(key)
        this.#watching--
        return true
      }
    }
    return false
  }

  get watching(): number {
    return this.#watching
  }

  /** Returns what was found since the last call. */
  take(): AccuracyReport {
    const total = this.#total
    this.#total = { compared: 0, allowedTooMany: 0, deniedTooMany: 0, error: 0 }
    return total
  }
}

/** The number of buckets of the approximate limits of each rule, by `limit/windowMs`. */
function approximateLimits(document: RuleSetDocument): Map<string, Map<string, number>> {
  const { defaults = {} } = document
  const byDefault = defaults.algorithm ?? "sliding-window-counter"
  const found = new Map<string, Map<string, number>>()
  for (const rule of document.rules) {
    if (rule.cost !== undefined && rule.cost !== 1) continue
    const lists = [
      rule.limits,
      ...Object.values(rule.tiers ?? {}).map((tier) => (tier === "unlimited" ? tier : tier.limits)),
    ]
    const names = new Map<string, number>()
    for (const limits of lists) {
      if (limits === "unlimited") continue
      for (const {
        algorithm = byDefault,
        limit = defaults.limit,
        window = defaults.window,
        buckets = 1,
      } of limits)
        if (algorithm === "sliding-window-counter" && !isCalendarUnit(window))
          names.set(`${limit}/${windowMsOf(window, "")}`, buckets)
    }
    if (names.size > 0) found.set(rule.id, names)
  }
  return found
}

/** A key with more entries than this is no longer watched. */
const MAX_ENTRIES = 20_000
/** Entries that no longer count are removed once there are more of them than this, and more than others. */
const MAX_EXPIRED = 1_000

/** When the requests of cost 1 of one key were admitted under one limit. */
class AdmittedLog {
  readonly limit: number
  readonly #windowMs: number
  readonly #bucketMs: number
  readonly #times: number[] = []

  constructor(limit: number, windowMs: number, buckets: number) {
    this.limit = limit
    this.#windowMs = windowMs
    this.#bucketMs = windowMs / buckets
  }

  /** How many requests were admitted less than a window ago. */
  usedAt(nowMs: number): number {
    this.#forget(nowMs - this.#windowMs - this.#bucketMs)
    return this.#times.length - this.#countUntil(nowMs - this.#windowMs)
  }

  /**
   * How many that are by the estimate of a sliding window counter: the whole newer buckets, and of the oldest bucket the part that
   * is still inside the window.
   */
  estimateAt(nowMs: number): number {
    const size = this.#bucketMs
    const newest = Math.floor(nowMs / size) * size
    const newer = newest - this.#windowMs + size
    const beforeNewer = this.#countBefore(newer)
    const oldest = beforeNewer - this.#countBefore(newer - size)
    return Math.floor((oldest * (size - (nowMs - newest))) / size) + this.#times.length - beforeNewer
  }

  add(nowMs: number): void {
    this.#times.push(nowMs)
  }

  get isFull(): boolean {
    return this.#times.length >= MAX_ENTRIES
  }

  #forget(timeMs: number): void {
    const expired = this.#countUntil(timeMs)
    if (expired > MAX_EXPIRED && expired * 2 > this.#times.length) this.#times.splice(0, expired)
  }

  /** How many entries are at or before a time. */
  #countUntil(timeMs: number): number {
    return countWhile(this.#times, (time) => time <= timeMs)
  }

  #countBefore(timeMs: number): number {
    return countWhile(this.#times, (time) => time < timeMs)
  }
}

/** How many of the first entries hold, found by halving: entries that hold come before those that do not. */
function countWhile(times: readonly number[], holds: (time: number) => boolean): number {
  let from = 0
  let to = times.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if (holds(times[middle] as number)) from = middle + 1
    else to = middle
  }
  return from
}
