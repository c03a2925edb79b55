// A fetch that calls other people's APIs no faster than they allow.

import { type Clock, schedulingClock } from "../clock.js"
import type { Decision } from "../decision.js"
import { problemOfFieldPath } from "../field-path.js"
import type { Limiter } from "../limiter/limiter.js"
import { denialProblem, PROBLEM_CONTENT_TYPE, problemBody } from "../middleware/core/problem.js"
import { sfInteger, wholeSeconds } from "../middleware/headers/structured-field.js"
import { checkFields, checkType, hasMethods, isFilledText, isFunction } from "../options.js"
import { Pauses, requestedPauseMs } from "./api-pauses.js"
import type { CallCost, CallCosts, SettlingLimiter } from "./call-cost.js"

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
  /**
   * Units that a call costs: a number, a function, or an object that takes the cost from the bodies of the call and of its
   * response: `{ estimate: { json: "max_tokens" }, responseJson: "usage.total_tokens" }`. Default: 1.
   */
  cost?: number | ((call: OutgoingCall) => number | Promise<number>) | CallCost
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

interface ToCharge {
  readonly cost: number | undefined
  /** Returns the response for the caller. */
  settle(response: Response, decision: Decision): Response
}

function unchanged(response: Response): Response {
  return response
}

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
  limiter: Pick<Limiter, "wait" | "refund"> & Partial<Pick<Limiter, "reserve">>,
  options: LimitFetchOptions = {},
): Fetch {
  checkOptions(fetch, limiter, options)
  const { maxWaitMs = Number.POSITIVE_INFINITY, retries = 0 } = options
  const clock = schedulingClock(options.clock)
  const pauses = new Pauses(clock)
  let costs: Promise<CallCosts> | undefined

  return async (input, init) => {
    const call = callOf(input, init)
    const key = keyOf(options, call)
    const { cost, settle } = await costOf(key, call)
    const signal = init?.signal ?? (isRequest(input) ? input.signal : undefined)
    const deadline = clock.now() + maxWaitMs
    for (let tries = 1; ; tries++) {
      const decision = await waitForTurn(key, cost, deadline, signal)
      if (!("allowed" in decision) || !decision.allowed) return denialResponse(decision)
      const response = await fetch(input, init)
      const pauseMs = requestedPauseMs(response.status, response.headers, clock.now())
      pauses.pause(key, pauseMs ?? DEFAULT_PAUSE_MS * 2 ** (tries - 1))
      if (tries > retries || !mayRepeat(response, pauseMs, input, init, call))
        return settle(response, decision)
      // Return the API's own response instead of a 429 of ours.
      if (clock.now() + pauses.leftMs(key) > deadline) return settle(response, decision)
      await response.body?.cancel()
    }
  }

  /** The cost to charge before a call, and how its response changes it. */
  async function costOf(key: string, call: OutgoingCall): Promise<ToCharge> {
    const { cost } = options
    if (typeof cost === "function") return { cost: await cost(call), settle: unchanged }
    if (typeof cost !== "object") return { cost, settle: unchanged }
    costs ??= import("./call-cost.js").then(
      ({ CallCosts }) => new CallCosts(cost, limiter as SettlingLimiter),
    )
    const found = await costs
    const { estimate, factor } = found.before(call.body)
    return {
      cost: estimate,
      settle: (response, decision) => found.after(response, { key, estimate, factor, decision }),
    }
  }

  /** Waits for the end of the key's pause, then for the limiter. Returns the denial if that would take too long. */
  async function waitForTurn(
    key: string,
    cost: number | undefined,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<Decision | Denied> {
    for (;;) {
      if (!(await pauses.wait(key, deadline, signal))) return { retryAfterMs: pauses.leftMs(key) }
      const decision = await limiter.wait(key, {
        ...(cost === undefined ? {} : { cost }),
        ...(signal === undefined ? {} : { signal }),
        maxWaitMs: Math.max(0, deadline - clock.now()),
      })
      if (!decision.allowed || pauses.leftMs(key) === 0) return decision
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
  checkType(options.cost, "limitFetch.cost", "an integer ≥ 0, a function or an object", (cost) => {
    return isFunction(cost) || isCount(cost) || isPlainObject(cost)
  })
  if (isPlainObject(options.cost)) {
    checkCallCost(options.cost as CallCost)
    checkType(limiter, "limitFetch.limiter", "a limiter with reserve()", hasMethods("reserve"))
  }
  checkType(options.maxWaitMs, "limitFetch.maxWaitMs", "milliseconds ≥ 0", (ms) => {
    return typeof ms === "number" && ms >= 0
  })
  checkType(options.retries, "limitFetch.retries", "an integer ≥ 0", isCount)
  checkType(options.clock, "limitFetch.clock", "a clock with now()", hasMethods("now"))
}

function checkCallCost(cost: CallCost): void {
  const place = "limitFetch.cost"
  const { responseJson, estimate, models, max } = cost
  checkFields(cost, ["responseJson", "estimate", "models", "max"], place)
  checkType(responseJson, `${place}.responseJson`, FIELD_WEIGHTS, areFieldWeights)
  checkType(estimate, `${place}.estimate`, "an integer ≥ 1 or an object", (value) => {
    return isPlainObject(value) || (isCount(value) && (value as number) >= 1)
  })
  if (typeof estimate === "object") {
    checkFields(estimate, ["json", "bytesPerUnit", "default", "max"], `${place}.estimate`)
    checkType(estimate.json, `${place}.estimate.json`, FIELD_WEIGHTS, areFieldWeights)
    checkType(estimate.bytesPerUnit, `${place}.estimate.bytesPerUnit`, "a number > 0", (bytes) => {
      return isWeight(bytes) && (bytes as number) > 0
    })
    checkType(estimate.default, `${place}.estimate.default`, "an integer ≥ 0", isCount)
    checkType(estimate.max, `${place}.estimate.max`, "an integer ≥ 0", isCount)
  }
  checkType(models, `${place}.models`, "factors by name, each a number ≥ 0", (value) => {
    return isPlainObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isWeight)
  })
  checkType(max, `${place}.max`, "an integer ≥ 0", isCount)
}

const FIELD_WEIGHTS =
  "names of fields joined by dots, such as usage.total_tokens, or an object with their weights"

function areFieldWeights(fields: unknown): boolean {
  if (isFilledText(fields)) return problemOfFieldPath(fields as string) === undefined
  if (!isPlainObject(fields)) return false
  const paths = Object.keys(fields)
  return (
    paths.length > 0 &&
    paths.every((path) => problemOfFieldPath(path) === undefined) &&
    Object.values(fields).every(isWeight)
  )
}

function isWeight(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && Number.isFinite(value)
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
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
