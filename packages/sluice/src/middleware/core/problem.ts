// Bodies of `application/problem+json` (RFC 9457), for a denial and for a mistake.

import type { SluiceError } from "../../errors.js"

export const PROBLEM_CONTENT_TYPE = "application/problem+json"

/** The types of draft-ietf-httpapi-ratelimit-headers. */
const QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"
const REDUCED_CAPACITY = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

export interface Problem {
  /** A URI that names the kind of problem, or `about:blank` when the status says it all. */
  readonly type: string
  readonly title: string
  readonly status: number
  /** A sentence for people. */
  readonly detail: string
  /** For programs. A denial has none: its type says it. */
  readonly code?: string
}

export interface DenialProblem extends Problem {
  /** The names of the limits that deny. None when the key is blocked, or when the store cannot be asked. */
  readonly "violated-policies": readonly string[]
  /** Exact, unlike the whole seconds of `retry-after`. `"never"` for a cost that can never fit. */
  readonly retryAfterMs: number | "never"
  readonly rule?: string
}

/** The part of a denial that its problem tells; a `Decision` is one. */
export interface Denial {
  readonly retryAfterMs: number
  readonly deniedBy?: string | undefined
  readonly degraded?: string | undefined
  readonly limits?: readonly { readonly name: string; readonly retryAfterMs: number }[] | undefined
}

export interface DenialOptions {
  /** Default: 429. */
  readonly status?: number | undefined
  /** The rule that denied. */
  readonly rule?: string | undefined
}

export function denialProblem(denial: Denial, options: DenialOptions = {}): DenialProblem {
  const { retryAfterMs, deniedBy, degraded } = denial
  const { status = 429, rule } = options
  // Nobody exceeded anything if the store is away and the rule says to deny then.
  const away = degraded === "deny"
  const denying = denial.limits?.filter((limit) => limit.retryAfterMs > 0).map((limit) => limit.name)
  const single = deniedBy === undefined || deniedBy === "block" ? [] : [deniedBy]
  return {
    type: away ? REDUCED_CAPACITY : QUOTA_EXCEEDED,
    title: away ? "The rate limiter is not available" : "Too many requests",
    status,
    detail: away ? `No request can be allowed now. ${advice(retryAfterMs)}` : advice(retryAfterMs),
    "violated-policies": away ? [] : (denying ?? single),
    retryAfterMs: retryAfterMs === Infinity ? "never" : retryAfterMs,
    ...(rule === undefined ? {} : { rule }),
  }
}

function advice(retryAfterMs: number): string {
  if (retryAfterMs === Infinity) return "This request costs more than its limit can ever allow."
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return `Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`
}

/** A problem that is a mistake: its code and its message say what, where, and what was expected. */
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

/** Any other problem. Its title is the status in words, as RFC 9457 wants it for `about:blank`. */
export function problemOf(status: number, code: string, detail: string): Problem {
  return { type: "about:blank", title: TITLES[status] ?? `Status ${status}`, status, detail, code }
}

/**
 * The body. What came from a request may stand in it, so everything that could mean something to a browser that takes it
 * for HTML or a script is escaped.
 */
export function problemBody(problem: Problem): string {
  return escaped(problem)
}

/** The last text of a denial by one limit. But for its exact wait it is good for a second. */
const last: { deniedBy?: string; rule?: string | undefined; status: number; seconds: number } & BodyParts = {
  status: 0,
  seconds: 0,
  start: "",
  end: "",
  isAscii: true,
}

export interface DenialBody {
  readonly body: string
  /** How many bytes it has, where that is known already. */
  readonly bytes: number | undefined
}

/** The same text for a denial, by hand in a fraction of the time: those who are denied ask again and again. */
export function denialBody(denial: Denial, options: DenialOptions = {}): DenialBody {
  const { deniedBy, retryAfterMs, degraded, limits } = denial
  const { status = 429, rule } = options
  const isPlain = limits === undefined && degraded === undefined && retryAfterMs !== Infinity
  if (!isPlain || deniedBy === undefined) {
    const { start, end } = bodyParts(denialProblem(denial, options))
    return { body: `${start}${retryAfterMs === Infinity ? '"never"' : retryAfterMs}${end}`, bytes: undefined }
  }
  const seconds = Math.ceil(retryAfterMs / 1000)
  if (seconds !== last.seconds || deniedBy !== last.deniedBy || rule !== last.rule || status !== last.status)
    Object.assign(last, { deniedBy, rule, status, seconds }, bodyParts(denialProblem(denial, options)))
  const body = last.start + retryAfterMs + last.end
  return { body, bytes: last.isAscii ? body.length : undefined }
}

/** What stands before and after the exact wait. */
interface BodyParts {
  start: string
  end: string
  isAscii: boolean
}

function bodyParts(problem: DenialProblem): BodyParts {
  const { type, title, status, detail, rule } = problem
  const names = problem["violated-policies"].map(quoted).join(",")
  const said = `{"type":"${type}","title":"${title}","status":${status},"detail":"${detail}"`
  // Joined, so that each is one piece in all the texts it goes into.
  const start = [said, ',"violated-policies":[', names, '],"retryAfterMs":'].join("")
  const end = rule === undefined ? "}" : [',"rule":', quoted(rule), "}"].join("")
  return { start, end, isAscii: PRINTABLE.test(start) && PRINTABLE.test(end) }
}

const PRINTABLE = /^[ -~]*$/

/** Printable ASCII in which nothing has to be escaped, neither for JSON nor for browsers. */
const PLAIN = /^[ !#-%'-;=?-[\]-~]*$/

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : escaped(text)
}

function escaped(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}
