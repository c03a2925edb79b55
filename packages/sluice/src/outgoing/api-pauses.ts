// How long an API asks its clients to pause, and which keys are paused because of it.

import { type Clock, sleep } from "../clock.js"
import type { HeaderSource } from "../request/header-source.js"

/** Ended pauses are removed once there are this many, and then each time the number has doubled. */
const CLEANUP_SIZE = 1_024

/** The keys for which no calls are sent until a time. */
export class Pauses {
  readonly #clock: Required<Clock>
  readonly #until = new Map<string, number>()
  #cleanupSize = CLEANUP_SIZE

  constructor(clock: Required<Clock>) {
    this.#clock = clock
  }

  /** How many keys are stored. Keys whose pause is over are removed sooner or later. */
  get size(): number {
    return this.#until.size
  }

  /** Pauses a key for at least this many milliseconds. It never makes a pause shorter. */
  pause(key: string, ms: number): void {
    if (!(ms > 0)) return
    this.#until.set(key, Math.max(this.#until.get(key) ?? 0, this.#clock.now() + ms))
    if (this.#until.size >= this.#cleanupSize) this.#cleanUp()
  }

  /** How many milliseconds are left of a key's pause. */
  leftMs(key: string): number {
    const until = this.#until.get(key)
    if (until === undefined) return 0
    const left = until - this.#clock.now()
    if (left > 0) return left
    this.#until.delete(key)
    return 0
  }

  /**
   * Waits for the end of a key's pause, even if it is extended meanwhile. Resolves to false, without waiting, when the pause
   * ends after the deadline. Rejects with the signal's reason when it aborts.
   */
  async wait(key: string, deadline: number, signal: AbortSignal | undefined): Promise<boolean> {
    for (let left = this.leftMs(key); left > 0; left = this.leftMs(key)) {
      if (this.#clock.now() + left > deadline) return false
      await sleep(this.#clock, left, signal)
    }
    return true
  }

  #cleanUp(): void {
    for (const key of [...this.#until.keys()]) this.leftMs(key)
    this.#cleanupSize = Math.max(CLEANUP_SIZE, this.#until.size * 2)
  }
}

type Headers = Extract<HeaderSource, { get(name: string): string | null }>

/** Statuses that may ask for a pause by `retry-after`. */
const PAUSE_STATUSES = new Set([429, 503])
/** A larger number is a Unix time: as seconds from now it would be 31 years. */
const MIN_UNIX_SECONDS = 1e9
const MIN_UNIX_MS = 1e12

/** Pairs of headers that say how much is left and when it resets, as various APIs name them. */
const PAIRS: readonly (readonly [remaining: string, reset: string])[] = [
  ["ratelimit-remaining", "ratelimit-reset"],
  ["x-ratelimit-remaining", "x-ratelimit-reset"],
  ["x-rate-limit-remaining", "x-rate-limit-reset"],
  // OpenAI, and APIs that follow it.
  ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
  ["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
  ["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
]

/**
 * Reads from a response how many milliseconds the API asks clients to pause; 0 when it asks for no pause. Returns undefined
 * when it asks for a pause and does not say how long.
 */
export function requestedPauseMs(status: number, headers: Headers, now: number): number | undefined {
  // The headers of a cached response are out of date.
  if (Number(headers.get("age") ?? 0) > 0) return 0
  // Dates are compared with the response's own Date header: the API's clock may differ from ours.
  const sent = Date.parse(headers.get("date") ?? "")
  const from = Number.isNaN(sent) ? now : sent
  let wait = remainingWait(headers, from)
  if (!PAUSE_STATUSES.has(status)) return wait
  const retryAfter = retryAfterMs(headers, from)
  if (retryAfter !== undefined) wait = Math.max(wait, retryAfter)
  // A 503 alone means that the API is down, not that it received too many calls.
  return wait === 0 && retryAfter === undefined && status === 429 ? undefined : wait
}

function retryAfterMs(headers: Headers, from: number): number | undefined {
  const exact = headers.get("retry-after-ms")
  if (exact !== null && /^\s*\d+(\.\d+)?\s*$/.test(exact)) return Number(exact)
  const text = headers.get("retry-after")
  return text === null ? undefined : waitOf(text, from)
}

/** Returns the longest wait among the limits that have nothing left. */
function remainingWait(headers: Headers, from: number): number {
  let wait = 0
  for (const [remaining, reset] of PAIRS) {
    if (isUsedUp(headers.get(remaining))) wait = Math.max(wait, waitOf(headers.get(reset), from) ?? 0)
  }
  for (const { r, remaining, t, reset } of rateLimitMembers(headers.get("ratelimit") ?? "")) {
    if (isUsedUp(r ?? remaining)) wait = Math.max(wait, waitOf(t ?? reset, from) ?? 0)
  }
  return wait
}

function isUsedUp(remaining: string | null | undefined): boolean {
  return remaining != null && /^\s*-?\d+(\.\d+)?\s*$/.test(remaining) && Number(remaining) <= 0
}

/** Parses seconds from now, a Unix time, a date, or a duration such as `6m0s` and `120ms`. Undefined for anything else. */
function waitOf(text: string | null | undefined, from: number): number | undefined {
  const value = text?.trim()
  if (value === undefined || value === "") return undefined
  if (/^\d+(\.\d+)?$/.test(value)) {
    const number = Number(value)
    if (number >= MIN_UNIX_MS) return Math.max(0, number - from)
    return number >= MIN_UNIX_SECONDS ? Math.max(0, number * 1000 - from) : number * 1000
  }
  if (/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(value)) return durationMs(value)
  // Dates in headers have a time of day. Without this test `Date.parse` would take `-5` for a date.
  const date = value.includes(":") ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - from)
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

function durationMs(text: string): number {
  let ms = 0
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) {
    ms += Number(number) * (UNITS[unit as string] as number)
  }
  return ms
}

type Member = Readonly<Record<string, string | undefined>>

/**
 * Parses the members of a `ratelimit` header into their parameters. Draft 8 and later have one member per limit,
 * `"per-minute";r=0;t=30`; draft 7 has a single one, `limit=50, remaining=0, reset=30`.
 */
function rateLimitMembers(text: string): Member[] {
  // A name may contain the separators.
  const plain = text.replace(/"(?:[^"\\]|\\.)*"/g, "name")
  const isDraft7 = /(^|[,\s])remaining\s*=/i.test(plain)
  return isDraft7 ? [parameters(plain, ",")] : plain.split(",").map((member) => parameters(member, ";"))
}

function parameters(text: string, separator: string): Member {
  const entries = text.split(separator).map((part) => {
    const [name = "", value = ""] = part.split("=")
    return [name.trim().toLowerCase(), value.trim()]
  })
  return Object.fromEntries(entries)
}
