// What the answer of an API says about when to call it again.

import type { HeaderSource } from "../request/header-source.js"

type Headers = Extract<HeaderSource, { get(name: string): string | null }>

/** Statuses with which an API asks to be left alone for a while. */
const ASKS_TO_WAIT = new Set([429, 503])
/** Numbers above this are dates: as a number of seconds from now it would be 31 years. */
const LEAST_UNIX_SECONDS = 1e9
const LEAST_UNIX_MS = 1e12

/** Pairs of headers that say how much is left and when there will be more, in the ways that APIs say it. */
const PAIRS: readonly (readonly [remaining: string, reset: string])[] = [
  ["ratelimit-remaining", "ratelimit-reset"],
  ["x-ratelimit-remaining", "x-ratelimit-reset"],
  ["x-rate-limit-remaining", "x-rate-limit-reset"],
  // OpenAI and those who follow it.
  ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
  ["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
  ["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
]

/**
 * How long to send nothing more, in milliseconds; 0 when the answer asks for nothing. Undefined: it asks to wait, and
 * does not say how long.
 */
export function waitAsked(status: number, headers: Headers, now: number): number | undefined {
  // An answer out of a cache tells of another time.
  if (Number(headers.get("age") ?? 0) > 0) return 0
  // Dates are counted from the API's own, where it tells it: its clock need not be ours.
  const sent = Date.parse(headers.get("date") ?? "")
  const from = Number.isNaN(sent) ? now : sent
  let wait = remainingWait(headers, from)
  if (!ASKS_TO_WAIT.has(status)) return wait
  const retryAfter = retryAfterMs(headers, from)
  if (retryAfter !== undefined) wait = Math.max(wait, retryAfter)
  // 503 alone says that the API is ill, not that it was called too often.
  return wait === 0 && retryAfter === undefined && status === 429 ? undefined : wait
}

function retryAfterMs(headers: Headers, from: number): number | undefined {
  const exact = headers.get("retry-after-ms")
  if (exact !== null && /^\s*\d+(\.\d+)?\s*$/.test(exact)) return Number(exact)
  const text = headers.get("retry-after")
  return text === null ? undefined : waitOf(text, from)
}

/** The longest of the waits for everything of which nothing is left. */
function remainingWait(headers: Headers, from: number): number {
  let wait = 0
  for (const [remaining, reset] of PAIRS) {
    if (isNothing(headers.get(remaining))) wait = Math.max(wait, waitOf(headers.get(reset), from) ?? 0)
  }
  for (const { r, remaining, t, reset } of rateLimitMembers(headers.get("ratelimit") ?? "")) {
    if (isNothing(r ?? remaining)) wait = Math.max(wait, waitOf(t ?? reset, from) ?? 0)
  }
  return wait
}

function isNothing(remaining: string | null | undefined): boolean {
  return remaining != null && /^\s*-?\d+(\.\d+)?\s*$/.test(remaining) && Number(remaining) <= 0
}

/** Seconds from now, a Unix time, a date, or a duration such as `6m0s` and `120ms`. Undefined when it is none of these. */
function waitOf(text: string | null | undefined, from: number): number | undefined {
  const value = text?.trim()
  if (value === undefined || value === "") return undefined
  if (/^\d+(\.\d+)?$/.test(value)) {
    const number = Number(value)
    if (number >= LEAST_UNIX_MS) return Math.max(0, number - from)
    return number >= LEAST_UNIX_SECONDS ? Math.max(0, number * 1000 - from) : number * 1000
  }
  if (/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(value)) return durationMs(value)
  // Every date that a header may hold has a time of day; `Date.parse` also takes `-5` for a date.
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
 * The members of a `ratelimit` header, each as its parameters. Draft 8 and later have one member per limit,
 * `"per-minute";r=0;t=30`; draft 7 has one for all, `limit=50, remaining=0, reset=30`.
 */
function rateLimitMembers(text: string): Member[] {
  // A name may contain whatever separates members.
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
