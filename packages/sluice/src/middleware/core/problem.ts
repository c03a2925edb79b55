// Bodies of `application/problem+json` (RFC 9457), for denials and for errors.

import type { SluiceError } from "../../errors.js"

export const PROBLEM_CONTENT_TYPE = "application/problem+json"

/** The types of draft-ietf-httpapi-ratelimit-headers. */
const QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"
const REDUCED_CAPACITY = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

export interface Problem {
  /** A URI that names the kind of problem, or `about:blank` when the status is enough. */
  readonly type: string
  readonly title: string
  readonly status: number
  /** A sentence for people. */
  readonly detail: string
  /** An error code for programs. Denials have none: their `type` identifies them. */
  readonly code?: string
}

export interface DenialProblem extends Problem {
  /** The names of the limits that deny. Empty when the key is blocked, or when the store is unavailable. */
  readonly "violated-policies": readonly string[]
  /** Of the tightest limit. Missing when no limit denies. */
  readonly limit?: number | undefined
  readonly remaining?: number | undefined
  /** Whole seconds, as in the header `retry-after`. Missing for a cost that can never fit. */
  readonly retryAfter?: number | undefined
  /** Whole milliseconds, rounded up. `"never"` for a cost that can never fit. */
  readonly retryAfterMs: number | "never"
  readonly rule?: string | undefined
}

/** What a problem says of a denial. Every `Decision` has these fields. */
export interface Denial {
  readonly limit?: number
  readonly remaining?: number
  readonly retryAfterMs: number
  readonly deniedBy?: string | undefined
  readonly degraded?: string | undefined
  readonly limits?: readonly { readonly name: string; readonly allowed: boolean }[] | undefined
}

export interface DenialOptions {
  /** Default: 429. */
  readonly status?: number | undefined
  /** The rule that denied. */
  readonly rule?: string | undefined
}

/** Builds the problem of a denied request. */
export function denialProblem(denial: Denial, options: DenialOptions = {}): DenialProblem {
  const { limit, remaining, retryAfterMs, deniedBy, degraded } = denial
  const { status = 429, rule } = options
  // The store is unavailable and the limit denies in that case: nobody exceeded a quota.
  const unavailable = degraded === "deny"
  const denying = denial.limits?.filter((limit) => !limit.allowed).map((limit) => limit.name)
  const single = deniedBy === undefined || deniedBy === "block" ? [] : [deniedBy]
  return {
    type: unavailable ? REDUCED_CAPACITY : QUOTA_EXCEEDED,
    title: unavailable ? "The rate limiter is not available" : "Too many requests",
    status,
    detail: unavailable ? `No request can be allowed now. ${advice(retryAfterMs)}` : advice(retryAfterMs),
    "violated-policies": unavailable ? [] : (denying ?? single),
    limit: finite(limit),
    remaining: finite(remaining),
    retryAfter: finite(secondsOf(retryAfterMs)),
    retryAfterMs: retryAfterMs === Infinity ? "never" : Math.ceil(retryAfterMs),
    rule,
  }
}

/** Whole seconds, at least 1. */
export function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

/** JSON leaves out what is undefined. It has no infinity. */
function finite(number: number | undefined): number | undefined {
  return number === Infinity ? undefined : number
}

function advice(retryAfterMs: number): string {
  if (retryAfterMs === Infinity) return "This request costs more than its limit can ever allow."
  const seconds = secondsOf(retryAfterMs)
  return `Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`
}

/** Builds the problem of an error: its code, and its message as the detail. */
export function errorProblem(error: SluiceError, status = 400): Problem {
  return problemOf(status, error.code, error.message)
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  412: "Precondition Failed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  428: "Precondition Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  508: "Loop Detected",
}

/** Builds any other problem. Its title is the status in words, as RFC 9457 asks for `about:blank`. */
export function problemOf(status: number, code: string, detail: string): Problem {
  return { type: "about:blank", title: TITLES[status] ?? `Status ${status}`, status, detail, code }
}

/**
 * Writes a problem as JSON. It may quote the request, so every character that means something in HTML or in a script is
 * escaped, in case a browser takes the body for one of them.
 */
export function problemBody(problem: Problem): string {
  return JSON.stringify(problem).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}
