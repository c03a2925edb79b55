import type { Outcome } from "../store.js"

interface Entry {
  readonly outcome: Outcome
  /** When the outcome was stored, and until when it holds, in ms of the monotonic clock. */
  readonly since: number
  readonly until: number
}

const MAX_ENTRIES = 10_000

/**
 * Remembers denied checks, and answers them again until their retry time, at most for `capMs`. Meanwhile it misses refunds,
 * resets, unblocks and raised limits of other instances.
 */
export class DenyCache {
  readonly #capMs: number
  readonly #entries = new Map<string, Entry>()

  constructor(capMs: number) {
    this.#capMs = capMs
  }

  get(name: string): Outcome | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    const now = performance.now()
    if (now >= entry.until) {
      this.#entries.delete(name)
      return undefined
    }
    const passed = Math.floor((now - entry.since) * 1000)
    const verdicts = entry.outcome.verdicts.map((verdict) => ({
      ...verdict,
      retryAfter: verdict.allowed ? 0 : Math.max(verdict.retryAfter - passed, 1),
      resetAfter: Math.max(verdict.resetAfter - passed, 0),
    }))
    return { ...entry.outcome, now: entry.outcome.now + passed, verdicts }
  }

  /** Stores a denial. Ignores an outcome that is allowed. */
  put(name: string, outcome: Outcome): void {
    if (outcome.allowed) return
    let wait = 0
    for (const verdict of outcome.verdicts) if (!verdict.allowed) wait = Math.max(wait, verdict.retryAfter)
    const since = performance.now()
    if (this.#entries.size >= MAX_ENTRIES) {
      const oldest = this.#entries.keys().next()
      if (!oldest.done) this.#entries.delete(oldest.value)
    }
    this.#entries.set(name, { outcome, since, until: since + Math.min(wait / 1000, this.#capMs) })
  }

  clear(): void {
    this.#entries.clear()
  }
}
