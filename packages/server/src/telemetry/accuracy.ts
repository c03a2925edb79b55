// How far an approximate algorithm is from the exact one, on live traffic: a sample of keys, and beside each of them the
// log of what was really admitted. The log follows what was decided, so a difference is one of this decision, not of those
// before it.

import type { RuleDecision, RuleOutcome, RuleSetDocument } from "sluice/rules"
import { milliseconds } from "../config/duration.js"
import { ExactLog } from "./exact-log.js"

export interface AccuracyReport {
  /** Decisions compared. */
  readonly compared: number
  /** Allowed, and the exact log would have denied. */
  readonly allowedTooMany: number
  /** Denied, and the exact log would have allowed. */
  readonly deniedTooMany: number
  /** The sum over all compared of how far the estimate of what is used was off, as a share of the limit. */
  readonly error: number
}

export interface AccuracyOptions {
  /** Keys watched at once. */
  readonly keys: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A key under the rule that it is watched for. */
interface Watched {
  /** By the name of the limit; only those that are approximate. */
  readonly logs: ReadonlyMap<string, ExactLog>
  /** Only from here on have the logs seen all that the estimates know of. */
  readonly ripeAt: number
  readonly until: number
}

interface WatchedRule {
  /** `limit/windowMs` of those that are approximate. */
  readonly limits: ReadonlySet<string>
  readonly keys: Map<string, Watched>
}

/** One decision in this many, of keys not in the sample, may bring its key into it. */
const PICK_EVERY = 16
/** Windows that a key is watched before it makes way for another. */
const WINDOWS = 10
/** A key of a day-long window would hold its place for ten days. */
const LONGEST_WINDOW_MS = 3_600_000

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

  /** Which limits are approximate, and always cost 1: what a decision cost is not in it. */
  follow(document: RuleSetDocument): void {
    const limits = this.#mostKeys === 0 ? [] : [...approximateLimits(document)]
    this.#rules = new Map(limits.map(([id, found]) => [id, { limits: found, keys: new Map() }]))
    this.#watching = 0
  }

  /** Two look-ups for a key that is not watched. */
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
      if (allowed) log.charge(1, now)
      isFull ||= log.isFull
      // A tier or an override may have other numbers under the same name.
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
      if (windowMs > LONGEST_WINDOW_MS || !rule.limits.has(`${limit}/${windowMs}`)) continue
      const log = new ExactLog(limit, windowMs)
      if (allowed) log.charge(1, now)
      logs.set(name, log)
      longest = Math.max(longest, windowMs)
    }
    if (logs.size === 0) return
    // The estimate looks back two windows: before that it may know of requests that the log has never seen.
    rule.keys.set(key, { logs, ripeAt: now + 2 * longest, until: now + WINDOWS * longest })
    this.#watching++
  }

  /** Keys that went silent would hold their places for ever. Of each rule the oldest is looked at. */
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

  /** What was found since the last call. */
  take(): AccuracyReport {
    const total = this.#total
    this.#total = { compared: 0, allowedTooMany: 0, deniedTooMany: 0, error: 0 }
    return total
  }
}

/** By rule, its approximate limits as `limit/windowMs`. */
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
        if (algorithm === "sliding-window-counter") names.add(`${limit}/${milliseconds(window)}`)
    }
    if (names.size > 0) found.set(rule.id, names)
  }
  return found
}
