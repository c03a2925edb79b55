// A fetch that calls other people's APIs no faster than they allow.

import { type Clock, schedulingClock } from "../clock.js"
import type { Decision } from "../decision.js"
import type { Limiter } from "../limiter/limiter.js"
import { denialProblem, PROBLEM_CONTENT_TYPE, problemBody } from "../middleware/core/problem.js"
import { sfInteger, wholeSeconds } from "../middleware/headers/structured-field.js"
import { checkFields, checkType, hasMethods, isFilledText, isFunction } from "../options.js"
import { Pauses, requestedPauseMs } from "./api-pauses.js"

/** A call that is about to be made. */
export interface OutgoingCall {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  /** As it was given to `fetch`; undefined when it came inside a `Request`. */
  readonly body: RequestInit["body"]
}

export interface LimitFetchOptions {
  /** Calls with the same key share a limit and are paused together. Default: the host of the URL. */
  key?: string | ((call: OutgoingCall) => string)
  /** Units that a call costs. Default: 1. */
  cost?: number | ((call: OutgoingCall) => number | Promise<number>)
  /** A call that would wait longer than this gets a 429 at once, without being sent. Default: no limit. */
  maxWaitMs?: number
  /**
   * How often to repeat a call after a 429, or a 503 with `retry-after`. A call is repeated only if its body can be sent
   * again (a stream cannot), and after a 503 only if its method is idempotent. Default: 0.
   */
  retries?: number
  /** The clock of the limiter, if it has its own. */
  clock?: Clock
}

type FetchInput = string | URL | Request
type Fetch = (input: FetchInput, init?: RequestInit) => Promise<Response>
/** Why a call was not sent. */
type Denied = Pick<Decision, "retryAfterMs" | "deniedBy" | "limits">

const FIELDS = ["key", "cost", "maxWaitMs", "retries", "clock"]
const IDEMPOTENT = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
/** The pause after a 429 that names none. It doubles with each try. */
const DEFAULT_PAUSE_MS = 1_000

/**
 * Returns a `fetch` that waits until the limiter allows the call. It also follows the API's own limits: after `retry-after`,
 * and when rate limit headers say that nothing is left, it pauses all calls with the same key for that long.
 */
export function limitFetch(
  fetch: Fetch,
  limiter: Pick<Limiter, "wait" | "refund">,
  options: LimitFetchOptions = {},
): Fetch {
  checkOptions(fetch, limiter, options)
  const { maxWaitMs = Number.POSITIVE_INFINITY, retries = 0 } = options
  const clock = schedulingClock(options.clock)
  const pauses = new Pauses(clock)

  return async (input, init) => {
    const call = callOf(input, init)
    const key = keyOf(options, call)
    const cost = typeof options.cost === "function" ? await options.cost(call) : options.cost
    const signal = init?.signal ?? (isRequest(input) ? input.signal : undefined)
    const deadline = clock.now() + maxWaitMs
    for (let tries = 1; ; tries++) {
      const denial = await waitForTurn(key, cost, deadline, signal)
      if (denial !== undefined) return denialResponse(denial)
      const response = await fetch(input, init)
      const pauseMs = requestedPauseMs(response.status, response.headers, clock.now())
      pauses.pause(key, pauseMs ?? DEFAULT_PAUSE_MS * 2 ** (tries - 1))
      if (tries > retries || !mayRepeat(response, pauseMs, input, init, call)) return response
      // Return the API's own response instead of a 429 of ours.
      if (clock.now() + pauses.leftMs(key) > deadline) return response
      await response.body?.cancel()
    }
  }

  /** Waits for the end of the key's pause, then for the limiter. Returns the denial if that would take too long. */
  async function waitForTurn(
    key: string,
    cost: number | undefined,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<Denied | undefined> {
    for (;;) {
      if (!(await pauses.wait(key, deadline, signal))) return { retryAfterMs: pauses.leftMs(key) }
      const decision = await limiter.wait(key, {
        ...(cost === undefined ? {} : { cost }),
        ...(signal === undefined ? {} : { signal }),
        maxWaitMs: Math.max(0, deadline - clock.now()),
      })
      if (!decision.allowed) return decision
      if (pauses.leftMs(key) === 0) return undefined
      // Meanwhile another response asked for a pause. Refund the charge: the call is not sent now.
      await limiter.refund(key, cost, decision)
    }
  }
}

function checkOptions(fetch: unknown, limiter: unknown, options: LimitFetchOptions): void {
  checkFields(options, FIELDS, "limitFetch")
  checkType(fetch ?? null, "limitFetch.fetch", "a fetch function", isFunction)
  checkType(limiter ?? null, "limitFetch.limiter", "a limiter", hasMethods("wait", "refund"))
  checkType(options.key, "limitFetch.key", "a string or a function", (key) => {
    return isFunction(key) || isFilledText(key)
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

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Not by `instanceof`: some servers replace the global `Request` class. */
function isRequest(input: FetchInput): input is Request {
  return typeof input === "object" && "url" in input
}

/** Throws the same TypeError as `fetch` for an invalid URL. */
function callOf(input: FetchInput, init: RequestInit | undefined): OutgoingCall {
  const request = isRequest(input) ? input : undefined
  const base = (globalThis as { location?: { href?: string } }).location?.href
  const url = new URL(request === undefined ? String(input) : request.url, base)
  return {
    url,
    method: (init?.method ?? request?.method ?? "GET").toUpperCase(),
    // Built on access: few keys and costs depend on headers.
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
  pauseMs: number | undefined,
  input: FetchInput,
  init: RequestInit | undefined,
  call: OutgoingCall,
): boolean {
  const { status } = response
  const isRefusal = status === 429 || (status === 503 && pauseMs !== 0 && IDEMPOTENT.has(call.method))
  return isRefusal && isReplayable(input, init)
}

/** Whether the body can be sent again. A stream, and the body inside a `Request`, can be read only once. */
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

/** The response to a call that was not sent: what the API would have responded. */
function denialResponse(denial: Denied): Response {
  const headers: Record<string, string> = { "content-type": PROBLEM_CONTENT_TYPE }
  if (denial.retryAfterMs !== Number.POSITIVE_INFINITY) {
    headers["retry-after"] = sfInteger(wholeSeconds(denial.retryAfterMs))
  }
  return new Response(problemBody(denialProblem(denial)), { status: 429, headers })
}
