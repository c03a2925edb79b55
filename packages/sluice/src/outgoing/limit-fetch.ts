// Calls to somebody else's API, no faster than it wants them.

import type { Clock } from "../clock.js"
import { systemClock } from "../clock.js"
import type { Decision } from "../decision.js"
import type { Limiter } from "../limiter.js"
import { denialProblem, PROBLEM_CONTENT_TYPE, problemBody } from "../middleware/core/problem.js"
import { sfInteger, wholeSeconds } from "../middleware/headers/structured-field.js"
import { checkFields, checkType, hasMethods } from "../options.js"
import { waitAsked } from "./limit-fetch-advice.js"
import { Holds } from "./limit-fetch-hold.js"

/** A call that is about to be made. */
export interface OutgoingCall {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  /** As it was given to `fetch`; undefined when it came inside a `Request`. */
  readonly body: RequestInit["body"]
}

export interface LimitFetchOptions {
  /** What is counted and held together. Default: the host of the URL. */
  key?: string | ((call: OutgoingCall) => string)
  /** Units that a call takes. Default: 1. */
  cost?: number | ((call: OutgoingCall) => number | Promise<number>)
  /** A call that could not be sent within so many milliseconds is answered 429 at once, by itself. Default: no bound. */
  maxWaitMs?: number
  /**
   * How often a call is sent again that was answered 429, or 503 with `retry-after`. Only if its body can be sent again
   * (a stream cannot), and after 503 only if its method is idempotent. Default: 0.
   */
  retries?: number
  /** The limiter's clock, if you gave it one. */
  clock?: Clock
}

type FetchInput = string | URL | Request
type Fetch = (input: FetchInput, init?: RequestInit) => Promise<Response>
/** What a call that was not made is answered by. */
type Denied = Pick<Decision, "retryAfterMs" | "deniedBy" | "limits">

const FIELDS = ["key", "cost", "maxWaitMs", "retries", "clock"]
/** Methods that may be sent twice without harm. */
const IDEMPOTENT = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
/** After a 429 that does not say how long to wait; doubled with each try. */
const PATIENCE_MS = 1_000

/**
 * A `fetch` that waits for its turn. It also heeds what the API answers: after `retry-after`, and when rate limit headers
 * say that nothing is left, further calls of the same key wait until then.
 */
export function limitFetch(
  fetch: Fetch,
  limiter: Pick<Limiter, "wait" | "refund">,
  options: LimitFetchOptions = {},
): Fetch {
  checkOptions(fetch, limiter, options)
  const { maxWaitMs = Number.POSITIVE_INFINITY, retries = 0 } = options
  const clock = clockOf(options.clock)
  const holds = new Holds(clock)

  return async (input, init) => {
    const call = callOf(input, init)
    const key = keyOf(options, call)
    const cost = typeof options.cost === "function" ? await options.cost(call) : options.cost
    const signal = init?.signal ?? (isRequest(input) ? input.signal : undefined)
    const deadline = clock.now() + maxWaitMs
    for (let tries = 1; ; tries++) {
      const denial = await turn(key, cost, deadline, signal)
      if (denial !== undefined) return denialResponse(denial)
      const response = await fetch(input, init)
      const asked = waitAsked(response.status, response.headers, clock.now())
      holds.hold(key, asked ?? PATIENCE_MS * 2 ** (tries - 1))
      if (tries > retries || !mayRepeat(response, asked, input, init, call)) return response
      // The API's own answer is better than one made here.
      if (clock.now() + holds.leftMs(key) > deadline) return response
      await response.body?.cancel()
    }
  }

  /** Waits for the API's leave and then for the limiter's. Returns what denied the call if that would take too long. */
  async function turn(
    key: string,
    cost: number | undefined,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<Denied | undefined> {
    for (;;) {
      if (!(await holds.end(key, deadline, signal))) return { retryAfterMs: holds.leftMs(key) }
      const decision = await limiter.wait(key, {
        ...(cost === undefined ? {} : { cost }),
        ...(signal === undefined ? {} : { signal }),
        maxWaitMs: Math.max(0, deadline - clock.now()),
      })
      if (!decision.allowed) return decision
      if (holds.leftMs(key) === 0) return undefined
      // An answer that came while it waited asks for a pause; what was charged is for a call that is not made now.
      await limiter.refund(key, cost, decision)
    }
  }
}

function checkOptions(fetch: unknown, limiter: unknown, options: LimitFetchOptions): void {
  checkFields(options, FIELDS, "limitFetch")
  checkType(fetch ?? null, "limitFetch.fetch", "a fetch function", isFunction)
  checkType(limiter ?? null, "limitFetch.limiter", "a limiter", hasMethods("wait", "refund"))
  checkType(options.key, "limitFetch.key", "a string or a function", (key) => {
    return isFunction(key) || (typeof key === "string" && key !== "")
  })
  checkType(options.cost, "limitFetch.cost", "an integer ≥ 0 or a function", (cost) => {
    return isFunction(cost) || isCount(cost)
  })
  checkType(options.maxWaitMs, "limitFetch.maxWaitMs", "milliseconds ≥ 0", (ms) => {
    return typeof ms === "number" && ms >= 0
  })
  checkType(options.retries, "limitFetch.retries", "an integer ≥ 0", isCount)
  checkType(options.clock, "limitFetch.clock", "a clock with now()", hasMethods("now"))
}

function isFunction(value: unknown): boolean {
  return typeof value === "function"
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function clockOf(clock: Clock = systemClock): Required<Clock> {
  const schedule = clock.schedule ?? systemClock.schedule
  return { now: () => clock.now(), schedule: (ms, callback) => schedule.call(clock, ms, callback) }
}

/** Not by `instanceof`: servers put a `Request` of their own in the place of the global one. */
function isRequest(input: FetchInput): input is Request {
  return typeof input === "object" && "url" in input
}

/** Throws the same TypeError as `fetch` where the URL cannot be read. */
function callOf(input: FetchInput, init: RequestInit | undefined): OutgoingCall {
  const request = isRequest(input) ? input : undefined
  const base = (globalThis as { location?: { href?: string } }).location?.href
  const url = new URL(request === undefined ? String(input) : request.url, base)
  return {
    url,
    method: (init?.method ?? request?.method ?? "GET").toUpperCase(),
    // Few keys and costs look at them.
    get headers() {
      return new Headers(init?.headers ?? request?.headers)
    },
    body: init?.body,
  }
}

function keyOf({ key }: LimitFetchOptions, call: OutgoingCall): string {
  if (key === undefined) return call.url.host
  return typeof key === "function" ? key(call) : key
}

function mayRepeat(
  response: Response,
  asked: number | undefined,
  input: FetchInput,
  init: RequestInit | undefined,
  call: OutgoingCall,
): boolean {
  const { status } = response
  const isRefusal = status === 429 || (status === 503 && asked !== 0 && IDEMPOTENT.has(call.method))
  return isRefusal && isReplayable(input, init)
}

/** Whether the body can be sent a second time. One inside a `Request`, and any stream, is gone after the first. */
function isReplayable(input: FetchInput, init: RequestInit | undefined): boolean {
  const body: unknown = init?.body
  if (body === undefined || body === null) return !isRequest(input) || input.body === null
  return (
    typeof body === "string" ||
    body instanceof URLSearchParams ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof Blob ||
    body instanceof FormData
  )
}

/** What the caller gets for a call that was not made: the answer that the API would have given. */
function denialResponse(denial: Denied): Response {
  const headers: Record<string, string> = { "content-type": PROBLEM_CONTENT_TYPE }
  if (denial.retryAfterMs !== Number.POSITIVE_INFINITY) {
    headers["retry-after"] = sfInteger(wholeSeconds(denial.retryAfterMs))
  }
  return new Response(problemBody(denialProblem(denial)), { status: 429, headers })
}
