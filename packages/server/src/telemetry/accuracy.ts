// Compares an approximate algorithm with the exact one on live traffic. For a sample of keys it keeps the exact log of what was
// admitted. The log records the decisions that were really made, so a difference concerns one decision and not those before it.

import { parseDuration } from "sluice"
import type { RuleDecision, RuleOutcome, RuleSetDocument } from "sluice/rules"

export interface AccuracyReport {
  /** How many decisions were compared. */
  readonly compared: number
  /** Allowed, although the exact log would have denied. */
  readonly allowedTooMany: number
  /** Denied, although the exact log would have allowed. */
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
  readonly logs: ReadonlyMap<string, ExactLog>
  /** From this time on the logs cover everything that the estimates know. */
  readonly ripeAt: number
  readonly until: number
}

interface WatchedRule {
  /** The approximate limits, as `limit/windowMs`. */
  readonly limits: ReadonlySet<string>
  readonly keys: Map<string, Watched>
}

/** One in this many decisions on other keys may add its key to the sample. */
const PICK_EVERY = 16
/** A key stays in the sample for this many windows. */
const WINDOWS = 10
/** Longer windows are not watched: a key with a window of a day would stay for ten days. */
const MAX_WINDOW_MS = 3_600_000

export class AccuracyMonitor {
  readonly #mostKeys: number
  readonly #now: () => number
  #rules: ReadonlyMap<string, WatchedRule> = new Map()
  #watching = 0
  #unwatched = 0
  #total = { compared: 0, allowedTooMany: 0, deniedTooMany: 0, error: 0 }

  constructor({ keys, now }: AccuracyOptions) {
    this.#mostKeys = keys
    this.#now = now
  }

  /** Finds the approximate limits whose cost is always 1, because a decision does not hold its cost. */
  follow(document: RuleSetDocument): void {
    const limits = this.#mostKeys === 0 ? [] : [...approximateLimits(document)]
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
    for (const { name, limit, remaining, allowed: hasRoom } of outcome.limits) {
      const log = watched.logs.get(name)
      if (log === undefined) continue
      const before = log.usedAt(now)
      if (allowed) log.add(now)
      isFull ||= log.isFull
      // A tier or an override may have other numbers under the same limit name.
      if (now < watched.ripeAt || limit !== log.limit) continue
      const total = this.#total
      total.compared++
      if (hasRoom && before + 1 > limit) total.allowedTooMany++
      if (!hasRoom && before + 1 <= limit) total.deniedTooMany++
      total.error += Math.abs(limit - remaining - (allowed ? before + 1 : before)) / limit
    }
    if (now < watched.until && !isFull) return
    rule.keys.delete(outcome.key)
    this.#watching--
  }

  #pick(rule: WatchedRule, { key, limits }: RuleOutcome, allowed: boolean): void {
    const now = this.#now()
    if (this.#watching >= this.#mostKeys && !this.#makeRoom(now)) return
    const logs = new Map<string, ExactLog>()
    let longest = 0
    for (const { name, limit, windowMs } of limits) {
      if (windowMs > MAX_WINDOW_MS || !rule.limits.has(`${limit}/${windowMs}`)) continue
      const log = new ExactLog(limit, windowMs)
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

/** The approximate limits of each rule, as `limit/windowMs`. */
function approximateLimits(document: RuleSetDocument): Map<string, Set<string>> {
  const byDefault = document.defaults?.algorithm ?? "sliding-window-counter"
  const found = new Map<string, Set<string>>()
  for (const rule of document.rules) {
    if (rule.cost !== undefined && rule.cost !== 1) continue
    const lists = [
      rule.limits,
      ...Object.values(rule.tiers ?? {}).map((tier) => (tier === "unlimited" ? tier : tier.limits)),
    ]
    const names = new Set<string>()
    for (const limits of lists) {
      if (limits === "unlimited") continue
      for (const { algorithm = byDefault, limit, window } of limits)
        if (algorithm === "sliding-window-counter") names.add(`${limit}/${parseDuration(window, "")}`)
    }
    if (names.size > 0) found.set(rule.id, names)
  }
  return found
}

/** A key with more entries in a window is no longer watched. */
const MAX_ENTRIES = 10_000
/** Entries that have left the window are removed once there are more of them than this, and more than others. */
const MAX_EXPIRED = 1_000

/** The exact log of one key under one limit: when its requests of cost 1 were admitted. */
class ExactLog {
  readonly limit: number
  readonly #windowMs: number
  readonly #times: number[] = []
  /** The index of the first entry inside the window. */
  #from = 0

  constructor(limit: number, windowMs: number) {
    this.limit = limit
    this.#windowMs = windowMs
  }

  /** How many requests were admitted less than a window ago. */
  usedAt(nowMs: number): number {
    const times = this.#times
    while (this.#from < times.length && nowMs - (times[this.#from] as number) >= this.#windowMs) this.#from++
    if (this.#from > MAX_EXPIRED && this.#from * 2 > times.length) {
      times.splice(0, this.#from)
      this.#from = 0
    }
    return times.length - this.#from
  }

  add(nowMs: number): void {
    this.#times.push(nowMs)
  }

  get isFull(): boolean {
    return this.#times.length - this.#from >= MAX_ENTRIES
  }
}
